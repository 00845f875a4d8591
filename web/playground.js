// The controls of the playground. The program (WebAssembly) answers a request in a worker, which is
// ended when a newer request comes; wasi.js describes how it runs.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const form = byId("controls");
  const status = byId("status");
  const FIXED = {
    first: ["2M", "4M", "8M", "16M"],
    last: ["8M", "16M", "24M", "32M", "48M", "64M", "96M", "128M", "256M"],
    passes: ["1", "2", "3", "5"],
  };
  const RANGE = { first: "2M", last: "32M", passes: "2" };
  const START = { machine: "sparcstation1", hat: "old" };
  const MOST_KEPT = 4;
  // A slider sends many values while it moves.
  const PAUSE_MS = 120;
  let program = null;
  let presets = new Map();
  let kept = [];
  let dropped = null;

  const workerUrl = URL.createObjectURL(new Blob([
    byId("worker").textContent,
    `;onmessage = ({ data: { module, input } }) => {
      try {
        runProgram(module, input, (line) => postMessage({ line }));
        postMessage({ done: true });
      } catch (error) {
        postMessage({ error: error.message });
      }
    };`,
  ], { type: "text/javascript" }));

  // Runs requests one at a time: the newest ends the one before.
  function runner() {
    let worker = null;
    return (request, bytes, onReply) => {
      if (worker) {
        worker.terminate();
      }
      const line = new TextEncoder().encode(JSON.stringify(request) + "\n");
      const input = new Uint8Array(line.length + bytes.length);
      input.set(line);
      input.set(bytes, line.length);
      const own = new Worker(workerUrl);
      worker = own;
      own.onmessage = ({ data }) => {
        if (data.line !== undefined) {
          onReply(JSON.parse(data.line));
          return;
        }
        own.terminate();
        if (data.error) {
          onReply({ refused: `The program failed: ${data.error}` });
        }
      };
      own.onerror = (event) => onReply({ refused: `The worker failed: ${event.message}` });
      own.postMessage({ module: program, input });
    };
  }
  const [askChoices, askSweep, askFile] = [runner(), runner(), runner()];
  const nothing = new Uint8Array(0);

  async function unpacked() {
    const packed = Uint8Array.from(atob(byId("program").textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    return WebAssembly.compile(await new Response(stream).arrayBuffer());
  }

  function refuse(area, reason) {
    const sentence = document.createElement("p");
    sentence.className = "verdict bad";
    sentence.textContent = reason;
    showPart(area, "", {});
    area.append(sentence);
  }

  const preset = () => presets.get(`${form.machine.value} ${form.hat.value}`);
  const settable = () => [...form.elements].map((element) => element.name)
    .filter((name) => name in preset());

  // The machine's own values are not sent, so the command stays short.
  function settings() {
    const own = preset();
    const chosen = { machine: form.machine.value, hat: form.hat.value };
    for (const name of settable()) {
      if (!(name in START) && form[name].value !== own[name]) {
        chosen[name] = form[name].value;
      }
    }
    return chosen;
  }

  function label(chosen) {
    const { machine, hat, ...changed } = chosen;
    return [machine, hat, ...Object.entries(changed).map((pair) => pair.join("="))].join(" ");
  }

  function mark() {
    byId("pmegs-value").textContent = form.pmegs.value;
    const own = preset();
    for (const name of settable()) {
      const isChanged = !(name in START) && form[name].value !== own[name];
      form[name].closest("label").classList.toggle("changed", isChanged);
    }
  }

  function fromPreset() {
    const own = preset();
    // A slider would clip what is outside of its ends.
    form.pmegs.max = Math.max(512, 2 * own.pmegs);
    for (const name of settable()) {
      if (!(name in START)) {
        form[name].value = own[name];
      }
    }
  }

  let begun = 0;
  function sweep() {
    const chosen = settings();
    const { first, last, passes } = form;
    const others = kept.filter((other) => other.label !== label(chosen));
    const machines = [{ label: label(chosen), settings: chosen }, ...others];
    const range = { first: first.value, last: last.value, passes: Number(passes.value) };
    const changes = Object.entries(range).filter(([name, value]) => String(value) !== RANGE[name]);
    const place = new URLSearchParams({ ...chosen, ...Object.fromEntries(changes) });
    history.replaceState(null, "", `#${place}`);
    mark();
    begun = performance.now();
    status.textContent = "Simulating…";
    askSweep({ do: "sweep", machines, ...range }, nothing, ({ result, refused }) => {
      if (refused) {
        status.textContent = "";
        refuse(byId("result"), refused);
        return;
      }
      showPart(byId("result"), result.html, result.charts);
      const seconds = ((performance.now() - begun) / 1000).toFixed(1);
      status.textContent = result.done ? `Simulated in ${seconds} s.` : "Simulating…";
    });
  }

  let pending = 0;
  form.addEventListener("input", (event) => {
    if (event.target.name in START) {
      fromPreset();
    }
    mark();
    clearTimeout(pending);
    pending = setTimeout(sweep, PAUSE_MS);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  byId("keep").addEventListener("click", () => {
    const chosen = settings();
    kept = kept.filter((other) => other.label !== label(chosen));
    kept.push({ label: label(chosen), settings: chosen });
    kept = kept.slice(-MOST_KEPT);
    byId("forget").hidden = false;
    status.textContent = `Kept: ${kept.map((other) => other.label).join("; ")}. Now change something.`;
  });
  byId("forget").addEventListener("click", () => {
    kept = [];
    byId("forget").hidden = true;
    sweep();
  });
  byId("reset").addEventListener("click", () => {
    kept = [];
    byId("forget").hidden = true;
    set({ ...START, ...RANGE });
    sweep();
  });

  // Sets controls; names that do not exist and values that a control lacks are passed over.
  function set(values) {
    for (const name of ["machine", "hat"]) {
      form[name].value = values[name] ?? START[name];
      if (form[name].selectedIndex < 0) {
        form[name].value = START[name];
      }
    }
    fromPreset();
    for (const [name, value] of Object.entries(values)) {
      const control = form.elements.namedItem(name);
      const isKnown = control && !(name in START);
      const has = isKnown && (!control.options || [...control.options].some((it) => it.value === value));
      if (has) {
        control.value = value;
      }
    }
  }

  function fill({ names, presets: all }) {
    presets = new Map(all.map(({ machine, hat, settings: own }) => [`${machine} ${hat}`, own]));
    for (const [name, values] of Object.entries({ ...names, ...FIXED })) {
      form[name].replaceChildren(...values.map((value) => new Option(value, value)));
    }
    set({ ...START, ...RANGE, ...Object.fromEntries(new URLSearchParams(location.hash.slice(1))) });
  }

  function look(chosen = {}) {
    const { name, bytes } = dropped;
    const area = byId("file-result");
    area.textContent = `Reading ${name}…`;
    askFile({ do: "file", name, ...chosen }, bytes, ({ result, refused }) => {
      if (refused) {
        refuse(area, refused);
      } else {
        showPart(area, result.html, result.charts);
        offer(result.columns, result.chosen);
      }
    });
  }

  // Columns of a table to choose from.
  function offer(columns, chosen) {
    const choice = (name, at) => {
      const place = document.createElement("label");
      const select = document.createElement("select");
      select.append(...columns.map((column) => new Option(column, column)));
      select.value = chosen ? chosen[at] : columns[at];
      place.append(`${name} `, select);
      return [place, select];
    };
    byId("columns").replaceChildren();
    if (columns.length < 3) {
      return;
    }
    const [[level, levels], [cost, costs]] = [choice("level", 0), choice("cost", 1)];
    const change = () => look({ level: levels.value, cost: costs.value });
    [levels, costs].forEach((select) => select.addEventListener("change", change));
    byId("columns").append(level, cost);
  }

  async function take(file) {
    if (file) {
      byId("columns").replaceChildren();
      dropped = { name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) };
      look();
    }
  }
  const zone = byId("drop");
  byId("file").addEventListener("change", (event) => take(event.target.files[0]));
  // A file that misses its place would replace the page.
  for (const name of ["dragover", "drop"]) {
    document.addEventListener(name, (event) => event.preventDefault());
  }
  zone.addEventListener("dragover", () => zone.classList.add("over"));
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  document.addEventListener("drop", (event) => {
    zone.classList.remove("over");
    take(event.dataTransfer.files[0]);
  });

  unpacked().then((module) => {
    program = module;
    askChoices({ do: "choices" }, nothing, ({ choices, refused }) => {
      if (refused) {
        refuse(byId("result"), refused);
        return;
      }
      fill(choices);
      sweep();
    });
  }).catch((error) => {
    status.textContent = "";
    refuse(byId("result"), `This browser cannot run the program: ${error.message}`);
  });
})();
