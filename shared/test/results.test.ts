import t from 'tap';
import { failureText, Results, type Failure } from './suite/results.ts';

/** As tap prints a group of files: tests within tests, of which one is skipped and three fail. */
const PRINTED = `TAP version 14
# Subtest: shared/test 1 of 1
    # Subtest: shared/test/one.test.ts
        # Subtest: it adds
            ok 1 - two
            not ok 2 - three # no \\#1
              ---
              diff: |
                -3
                +4
              at:
                fileName: one.test.ts
                lineNumber: 7
              stack: somewhere
              ...
            1..2
            # failed 1 test
        not ok 1 - it adds
        # Subtest: it waits
            1..0
        ok 2 - it waits # SKIP npm run test:long
        ok 3 - later # TODO
        1..3
        # failed 1 test
    not ok 1 - shared/test/one.test.ts
    # Subtest: shared/test/two.test.ts
        ok 1 - fine
        not ok 2 - timeout!
          ---
          expired: two.test.ts
          ...
        1..2
        # failed 1 test
    not ok 2 - shared/test/two.test.ts
    1..2
    # failed 2 tests
not ok 1 - shared/test 1 of 1
not ok 2 - shared/test/three.test.ts: its process has ended in it
1..2
# failed 2 tests
`;

void t.test('assertions are counted, and tests that fail without one', (t) => {
  const failures: Failure[] = [];
  const groups: string[] = [];
  const results = new Results({
    onFailure: (failure) => failures.push(failure),
    onGroup: (name) => groups.push(name),
  });
  // As it comes over a pipe.
  for (let at = 0; at < PRINTED.length; at += 50) results.write(Buffer.from(PRINTED.slice(at, at + 50)));
  t.equal(results.end(), false);
  t.same(results.counts, { total: 7, pass: 3, fail: 3, skip: 1 });
  t.same([...results.skipped], [['npm run test:long', 1]]);
  t.same(
    failures.map(({ path }) => path.at(-1)),
    ['three # no #1', 'timeout!', 'shared/test/three.test.ts: its process has ended in it'],
  );
  t.same(failures[0]!.path.slice(0, 3), ['shared/test 1 of 1', 'shared/test/one.test.ts', 'it adds']);
  t.match(
    failureText(failures[0]!),
    /^FAILED shared.* > it adds > three.*\n {2}diff: -3\n\+4\n[^]*one\.test\.ts/,
  );
  t.notMatch(failureText(failures[0]!), /somewhere/);
  t.equal(groups.length, 2);
  t.end();
});

void t.test('what ends early, or has no tests, is no success', (t) => {
  const end = (printed: string) => {
    const results = new Results({ onFailure: () => undefined });
    results.write(Buffer.from(printed));
    return results.end();
  };
  t.equal(end('TAP version 14\nok 1 - fine\n1..1\n'), true);
  t.equal(end('TAP version 14\nok 1 - fine\n1..2\n'), false, 'a test is missing');
  t.equal(end('TAP version 14\nok 1 - fine\n'), false, 'it was cut off');
  t.equal(end(''), false);
  t.end();
});
