// Runs the program of the playground: the few functions of WASI (wasi_snapshot_preview1) that it
// imports, with bytes as its standard input. There are no files, variables, clock or network. Every
// line of its standard output is passed to onLine. Used by a worker of the page, and by a test.
"use strict";
function runProgram(module, input, onLine) {
  const [success, badDescriptor, noSeeking] = [0, 8, 70];
  const exits = class extends Error {};
  const decoders = { 1: new TextDecoder(), 2: new TextDecoder() };
  const texts = { 1: "", 2: "" };
  let memory = null;
  let read = 0;
  let status = 0;
  const view = () => new DataView(memory.buffer);
  // The parts of memory that a list of addresses and lengths names.
  const parts = (list, count) =>
    Array.from({ length: count }, (_, index) => {
      const [at, length] = [0, 4].map((field) => view().getUint32(list + 8 * index + field, true));
      return new Uint8Array(memory.buffer, at, length);
    });

  const functions = {
    fd_read(descriptor, list, count, countAt) {
      if (descriptor !== 0) {
        return badDescriptor;
      }
      const before = read;
      for (const part of parts(list, count)) {
        const chunk = input.subarray(read, read + part.length);
        part.set(chunk);
        read += chunk.length;
      }
      view().setUint32(countAt, read - before, true);
      return success;
    },
    fd_write(descriptor, list, count, countAt) {
      if (!(descriptor in texts)) {
        return badDescriptor;
      }
      let written = 0;
      for (const part of parts(list, count)) {
        texts[descriptor] += decoders[descriptor].decode(part, { stream: true });
        written += part.length;
      }
      view().setUint32(countAt, written, true);
      if (descriptor === 1) {
        const lines = texts[1].split("\n");
        texts[1] = lines.pop();
        lines.forEach(onLine);
      }
      return success;
    },
    fd_close: () => badDescriptor,
    fd_seek: () => noSeeking,
    environ_sizes_get(countAt, bytesAt) {
      view().setUint32(countAt, 0, true);
      view().setUint32(bytesAt, 0, true);
      return success;
    },
    environ_get: () => success,
    // Only hash tables ask for random bytes, and no answer depends on them.
    random_get(at, length) {
      new Uint8Array(memory.buffer, at, length).fill(7);
      return success;
    },
    proc_exit(code) {
      status = code;
      throw new exits();
    },
  };

  const instance = new WebAssembly.Instance(module, { wasi_snapshot_preview1: functions });
  memory = instance.exports.memory;
  try {
    instance.exports._start();
  } catch (error) {
    // A trap is a panic, whose message the program wrote.
    if (!(error instanceof exits)) {
      throw new Error(texts[2].trim() || String(error));
    }
  }
  if (status !== 0) {
    throw new Error(texts[2].trim() || `the program ended with status ${status}`);
  }
}
