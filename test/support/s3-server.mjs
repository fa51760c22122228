// A server that speaks S3, with one bucket, in a process of its own: the package has no form that a CommonJS program could load. Ends with its standard input.
import { startFauxqs } from 'fauxqs';

const server = await startFauxqs({ port: 0, logger: false });
server.createBucket('objects');
process.stdout.write(`${server.port}\n`);
process.stdin.resume().on('end', () => process.exit());
