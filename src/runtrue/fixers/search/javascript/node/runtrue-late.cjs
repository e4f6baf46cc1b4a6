// Time limits that do not count the time in which this process waits for a processor.
'use strict';

/** How many times its limit something may take; milliseconds between looks. */
const STARVED = 10;
const LOOK = 100;

/** Call `act` once the time is up; returns what cancels that. */
function whenLate(seconds, act) {
  const began = Date.now();
  const first = processorSeconds();
  let last = first;
  const look = () => {
    const used = processorSeconds();
    const passed = (Date.now() - began) / 1000;
    if (used - first < seconds && used > last && passed < STARVED * seconds) {
      last = used;
      timer = setTimeout(look, LOOK);
    } else act();
  };
  let timer = setTimeout(look, seconds * 1000);
  return () => clearTimeout(timer);
}

function processorSeconds() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

module.exports = { whenLate };
