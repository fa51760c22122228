const { TestEnvironment } = require('jest-environment-node');

// A worker that holds nothing open ends here. Taking down what is left of its test files takes V8 longer than the half second that Jest
// waits, which then calls it a leak; process.exit() leaves that to the system. One that does hold something open never comes here, and is told.
if (process.send) process.once('beforeExit', () => process.exit());

module.exports = TestEnvironment;
