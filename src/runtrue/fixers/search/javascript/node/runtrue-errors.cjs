// An error as data: what a search reads of it.
'use strict';

const { inspect } = require('node:util');

const LONGEST = 4000;

function described(error) {
  if (error === null || typeof error !== 'object') return { type: 'Error', message: String(error), stack: '' };
  const shown = (value) => (value === undefined ? undefined : inspect(value, { depth: 4, breakLength: 200 }).slice(0, LONGEST));
  const has = 'expected' in error || 'actual' in error;
  return {
    type: String(error.name || 'Error'),
    message: String(error.message || '').slice(0, LONGEST),
    stack: unversioned(error.stack).slice(0, 4 * LONGEST),
    expected: has ? shown(error.expected) : undefined,
    actual: has ? shown(error.actual) : undefined,
  };
}

/** Return a stack without what makes a module one that is loaded again. */
function unversioned(stack) {
  return String(stack || '').replace(/[?&]runtrue=\d+/g, '');
}

module.exports = { described, unversioned };
