/**
 * Jest cannot `require()` ES modules on Node 20: this turns the ESM files of node_modules into CommonJS
 * and leaves every other file as it is.
 */
const { createHash } = require('node:crypto');
const { transformSync } = require('@swc/core');

const version = `1-${require('@swc/core/package.json').version}`;
const esm = /(^|[\n;}])\s*(import|export)\b|\bimport\s*\(|import\.meta/;

module.exports = {
  canInstrument: false,
  getCacheKey: (source, file) => createHash('sha1').update([version, file, source].join('\0')).digest('hex'),
  process(source, file) {
    if (!esm.test(source)) return { code: source };
    const { code } = transformSync(source, {
      filename: file,
      swcrc: false,
      configFile: false,
      sourceMaps: false,
      jsc: { target: 'es2023', parser: { syntax: 'ecmascript' } },
      module: { type: 'commonjs' },
    });
    return { code };
  },
};
