import { TimelineChanged } from '@engine/reading/event-pages.js';
import { categoryOf } from './failure-category.js';

const coded = (code: string, message = 'x'): Error => Object.assign(new Error(message), { code });

test.each([
  ['a refused connection', coded('ECONNREFUSED'), 'storage_unavailable'],
  ['a refused connection to both addresses of a name', new AggregateError([coded('ECONNREFUSED'), coded('ECONNREFUSED')]), 'storage_unavailable'],
  ['class 08', coded('08006'), 'storage_unavailable'],
  ['class 53', coded('53300'), 'storage_unavailable'],
  ['a server that shuts down', coded('57P01'), 'storage_unavailable'],
  ['a statement timeout', coded('57014'), 'storage_unavailable'],
  ['a standby in place of the primary', coded('25006'), 'storage_unavailable'],
  ['another timeline', new TimelineChanged('x'), 'storage_unavailable'],
  ['a deadlock that stayed', coded('40P01'), 'storage_unavailable'],
  ['a pool without a free connection', new Error('timeout exceeded when trying to connect'), 'storage_unavailable'],
  ['a driver error inside the error of the ORM', Object.assign(new Error('query failed'), { driverError: coded('57P01') }), 'storage_unavailable'],
  ['a violated constraint', coded('23505'), 'unexpected'],
  ['bad SQL', coded('42601'), 'unexpected'],
  ['an outside call that was refused', new TypeError('fetch failed', { cause: coded('ECONNREFUSED') }), 'unexpected'],
  ['a bug', new TypeError('x is not a function'), 'unexpected'],
  ['nothing', null, 'unexpected'],
  ['a thrown text', 'oops', 'unexpected'],
])('%s', (_, cause, category) => expect(categoryOf(cause)).toBe(category));
