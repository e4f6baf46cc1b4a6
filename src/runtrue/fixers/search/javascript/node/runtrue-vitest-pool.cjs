// A pool for vitest whose one thread outlives a run: its own start a thread for each run of tests.
'use strict';

function keptPool({ ThreadsPoolWorker }) {
  let thread = null;
  let started = false;

  class KeptThread extends ThreadsPoolWorker {
    name = 'runtrue';
    heard = [];

    async start() {
      if (thread) {
        this._thread = thread;
        return;
      }
      await super.start();
      thread = this._thread;
      thread.setMaxListeners(0);
      thread.once('exit', () => {
        thread = null;
        started = false;
      });
    }

    async stop() {
      for (const [event, callback] of this.heard) this._thread.off(event, callback);
      this.heard = [];
    }

    on(event, callback) {
      this.heard.push([event, callback]);
      super.on(event, callback);
    }

    send(message) {
      if (message.type === 'stop') this.answer('stopped');
      else if (message.type === 'start' && started) this.answer('started');
      else {
        if (message.type === 'start') started = true;
        super.send(message);
      }
    }

    answer(type) {
      const response = { type, __vitest_worker_response__: true };
      const callbacks = this.heard.filter(([event]) => event === 'message').map((one) => one[1]);
      setImmediate(() => callbacks.forEach((callback) => callback(response)));
    }
  }

  return { name: 'runtrue', createPoolWorker: (options) => new KeptThread(options) };
}

module.exports = { keptPool };
