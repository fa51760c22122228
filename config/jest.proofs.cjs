/** The long proofs of the engine, each with a command of its own: `npm run test:crash`, `test:simulation`, `test:outage`. */
module.exports = { ...require('./jest.config.cjs'), testPathIgnorePatterns: ['/node_modules/', '/dist/'], testTimeout: 600_000 };
