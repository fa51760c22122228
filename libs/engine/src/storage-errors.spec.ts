import { isDataError, isPassingStorageError, isRefusedStatement } from './storage-errors.js';

const withCode = (code: string): Error => Object.assign(new Error('said by the server'), { code });
const wrapped = (code: string): Error => Object.assign(new Error('said by TypeORM'), { driverError: withCode(code) });

test.each<[string, unknown, { passing: boolean; data: boolean; refused: boolean }]>([
  ['a closed socket', withCode('ECONNRESET'), { passing: true, data: false, refused: false }],
  ['a write to a closed pipe', withCode('EPIPE'), { passing: true, data: false, refused: false }],
  ['a write to a closed stream', withCode('ERR_STREAM_DESTROYED'), { passing: true, data: false, refused: false }],
  ['a terminated connection', new Error('Connection terminated unexpectedly'), { passing: true, data: false, refused: false }],
  ['a connection that did not come about in time', new Error('timeout expired'), { passing: true, data: false, refused: false }],
  ['a client timeout', new Error('Query read timeout'), { passing: true, data: false, refused: false }],
  ['08006 connection failure', withCode('08006'), { passing: true, data: false, refused: false }],
  ['25006 a primary that became a standby', withCode('25006'), { passing: true, data: false, refused: false }],
  ['25P03 an idle transaction that was ended', withCode('25P03'), { passing: true, data: false, refused: false }],
  ['28P01 a password that is being changed', withCode('28P01'), { passing: true, data: false, refused: false }],
  ['40P01 a deadlock', withCode('40P01'), { passing: true, data: false, refused: false }],
  ['53300 too many connections', withCode('53300'), { passing: true, data: false, refused: false }],
  ['55P03 a lock timeout', withCode('55P03'), { passing: true, data: false, refused: false }],
  ['57P01 a server that stops', wrapped('57P01'), { passing: true, data: false, refused: false }],
  ['23505 a unique violation', wrapped('23505'), { passing: false, data: true, refused: true }],
  ['22003 a number out of range', withCode('22003'), { passing: false, data: true, refused: true }],
  ['25P02 a failed transaction', withCode('25P02'), { passing: false, data: false, refused: true }],
  ['42883 a missing function', withCode('42883'), { passing: false, data: false, refused: true }],
  ['a code of the operating system that looks like the server’s', withCode('ENOSR'), { passing: false, data: false, refused: false }],
  ['an error nobody knows', new Error('odd'), { passing: false, data: false, refused: false }],
  ['a thrown text', 'odd', { passing: false, data: false, refused: false }],
  ['nothing', undefined, { passing: false, data: false, refused: false }],
])('%s', (_, error, expected) => {
  expect({ passing: isPassingStorageError(error), data: isDataError(error), refused: isRefusedStatement(error) }).toEqual(expected);
});
