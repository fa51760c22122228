// Reads the turn of an execution as its member would, and fails unless it is completed with an answer in it.
import { readFile } from 'node:fs/promises';

const { url, token } = JSON.parse(await readFile('.openbot/local.json', 'utf8'));

async function get(path) {
  const response = await fetch(url + path, { headers: { authorization: `Bearer ${token}` } });
  if (!response.ok) throw new Error(`GET ${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

const { state, chat, turn } = await get(`/v1/executions/${process.argv[2]}`);
const stored = await get(`/v1/chats/${chat}/turns/${turn}`);
const { response = stored } = stored;
const said = (response.output ?? [])
  .flatMap(({ content }) => content ?? [])
  .map(({ text }) => text ?? '')
  .join('');

if (state !== 'completed' || response.status !== 'completed' || said.trim() === '') throw new Error(`execution ${state}, turn ${JSON.stringify(stored)}`);
console.log(`stored answer: ${said.slice(0, 80)}`);
