// The test framework that jest is given: it keeps a file's environment and runs its tests in it again
// and again, each time with the modules loaded again. jest's own framework runs them.
'use strict';

const LOOPS = Symbol.for('runtrue-jest-loops');
/** What jest's framework adds to in each run, and how many handlers it begins with. */
const HANDLERS = Symbol.for('EVENT_HANDLERS');
const OWN_HANDLERS = 2;

module.exports = async function loop(globalConfig, config, environment, runtime, testPath, send) {
  const { framework, next } = globalThis[LOOPS].get(testPath);
  const jestRun = interop(require(framework));
  let last = { numFailingTests: 0, numPassingTests: 0, numPendingTests: 0, numTodoTests: 0, testResults: [] };
  for (let first = true; ; first = false) {
    const request = await next();
    if (request === null) return last;
    if (!first) forget(environment, runtime);
    try {
      const own = { ...globalConfig, testNamePattern: request.pattern };
      last = await jestRun(own, config, environment, runtime, testPath, send);
      request.done(last);
    } catch (error) {
      request.failed(error);
    }
  }
};

/** Leave nothing of the tests before: modules, mocks, timers, and the tests themselves. */
function forget(environment, runtime) {
  runtime.resetModules();
  // Older versions keep what they have read.
  for (const name of ['_cacheFS', '_cacheFSBuffer', '_fileTransforms']) runtime[name]?.clear?.();
  runtime.restoreAllMocks?.();
  environment.fakeTimersModern?.useRealTimers?.();
  environment.fakeTimers?.useRealTimers?.();
  const { global } = environment;
  for (const symbol of Object.getOwnPropertySymbols(global)) {
    if (symbol.description === 'JEST_STATE_SYMBOL') reset(global[symbol]);
  }
  if (global[HANDLERS]?.length > OWN_HANDLERS) global[HANDLERS].length = OWN_HANDLERS;
  if (global.document?.body) global.document.body.innerHTML = '';
}

function reset(state) {
  const root = { ...state.rootDescribeBlock, children: [], hooks: [], tests: [] };
  Object.assign(state, {
    rootDescribeBlock: root,
    currentDescribeBlock: root,
    currentlyRunningTest: null,
    hasFocusedTests: false,
    hasStarted: false,
    testNamePattern: null,
    unhandledErrors: [],
  });
}

function interop(module) {
  return module && module.default ? module.default : module;
}

module.exports.LOOPS = LOOPS;
