/**
 * Many observers in a process of their own, so that their work is not the server's: `node observers.cjs <url> <token> <count>`.
 * Says `open` when all have their first event, answers `report` with the number of events that each has got, and ends with its parent.
 */
const { get } = require('node:http');

const [, , url, token, count] = process.argv;
const seen = Array.from({ length: Number(count) }, () => 0);
let open = 0;
let ended = 0;

seen.forEach((_, index) => {
  get(url, { agent: false, headers: { authorization: `Bearer ${token}` } }, (response) => {
    let rest = '';
    response.setEncoding('latin1');
    response.on('data', (chunk) => {
      const parts = (rest + chunk).split('\n\n');
      rest = parts.pop();
      const events = parts.filter((part) => part.startsWith('id: ')).length;
      if (seen[index] === 0 && events > 0 && (open += 1) === seen.length) process.send('open');
      seen[index] += events;
    });
    response.on('close', () => {
      if ((ended += 1) === seen.length) process.send({ seen });
    });
  }).on('error', (error) => {
    process.send({ failed: error.message });
  });
});
process.on('disconnect', () => process.exit());
