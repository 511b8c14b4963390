// What a Node that is too old says before it meets a source that it cannot read: preloaded (--require) by the commands
// that people type. In the words of an old Node: nothing here is newer than ES5.
'use strict';

var needed = require('../package.json').engines.node.replace('>=', '');

/** @returns a sentence when a Node of this version cannot run Parley, else undefined */
module.exports = function complaint(version) {
  var have = version.split('.').map(Number);
  var want = needed.split('.').map(Number);
  if (have[0] > want[0] || (have[0] === want[0] && have[1] >= want[1])) return undefined;
  return (
    'Parley needs Node ' +
    needed +
    ' or newer, and this is Node ' +
    version +
    '.\n' +
    "Without installing one: npx -y -p node@22 -c 'npm ci && npm start'\n"
  );
};

var problem = module.exports(process.versions.node);
if (problem) {
  process.stderr.write(problem);
  process.exit(1);
}
