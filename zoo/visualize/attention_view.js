"use strict";
const COLORS = ["#1f77b4", "#e06c00", "#2a9134", "#d62739", "#8a5cd0", "#8a5a44",
  "#dd4fa5", "#1292a3", "#8f8a10", "#6b7280", "#4f9be0", "#b8860b", "#55a868",
  "#b5485d", "#a276e8", "#a8795f", "#b03a84", "#0f766e", "#646b00", "#475569"];
const STRENGTHS = [1, 3, 10];
const SIDES = ["from", "to"];
const FAINTEST = 1 / 256;  // the opacity of a line that cannot be seen
const MOST = 5;  // tokens that the status line names
const find = (id) => document.getElementById(id);
const kinds = JSON.parse(find("data").textContent);
const names = kinds.map((kind) => kind.name);
const state = { kind: 0, layer: 0, heads: new Set(), strength: 1, side: "from",
  token: null };
let pointed = null;  // [side, token] below the pointer
let typed = false;  // whether the last input was a key

// The weights --------------------------------------------------------------------

for (const kind of kinds) {
  const bytes = Uint8Array.from(atob(kind.weights), (c) => c.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  kind.values = Float32Array.from({ length: bytes.length / 2 },
    (_, i) => view.getUint16(2 * i, true) / 65535);
}

function weight(head, i, j) {
  const kind = kinds[state.kind], T = kind.from.length, L = kind.to.length;
  return kind.values[((state.layer * kind.heads + head) * T + i) * L + j];
}

/** Weights between an active token and token k of the other column, by head. */
function weights([side, token], k) {
  return shown().map((head) =>
    side === "from" ? weight(head, token, k) : weight(head, k, token));
}

const shown = () => [...state.heads].sort((a, b) => a - b);
const mean = (numbers) => numbers.reduce((a, b) => a + b, 0) / (numbers.length || 1);
const color = (head) => COLORS[head % COLORS.length];
const active = () => pointed || (state.token === null ? null
  : [state.side, state.token]);
const otherSide = (side) => SIDES[1 - SIDES.indexOf(side)];

// The state in the address ---------------------------------------------------------

function readAddress() {
  const given = new URLSearchParams(location.hash.slice(1));
  const number = (name, count) => {
    const value = parseInt(given.get(name), 10);
    return value >= 0 && value < count ? value : null;
  };
  state.kind = Math.max(0, names.indexOf(given.get("kind")));
  const kind = kinds[state.kind];
  state.layer = number("layer", kind.layers) ?? 0;
  const all = [...Array(kind.heads).keys()];
  const heads = (given.get("heads") ?? all.join()).split(",").map(Number);
  state.heads = new Set(given.get("heads") === "" ? [] : all.filter((h) =>
    heads.includes(h)));
  const strength = Number(given.get("opacity"));
  state.strength = STRENGTHS.includes(strength) ? strength : 1;
  state.side = given.get("side") === "to" ? "to" : "from";
  state.token = number("token", kind[state.side].length);
}

function writeAddress() {
  const kind = kinds[state.kind];
  const parts = [`kind=${kind.name}`, `layer=${state.layer}`];
  if (state.heads.size < kind.heads) parts.push(`heads=${shown()}`);
  if (state.strength > 1) parts.push(`opacity=${state.strength}`);
  if (state.token !== null) parts.push(`side=${state.side}`, `token=${state.token}`);
  history.replaceState(null, "", `#${parts.join("&")}`);
}

// The controls ---------------------------------------------------------------------

function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

/** One choice: an input that looks like a square. */
function choice(type, name, value, text, label) {
  const input = element("input", { type, name, value });
  input.setAttribute("aria-label", label);
  return element("label", { title: label }, input, element("span", {}, text));
}

function fill(id, choices) {
  const fieldset = find(id);
  fieldset.replaceChildren(fieldset.firstElementChild, ...choices);
  fieldset.hidden = choices.length < 2;
}

function makeControls() {
  const kind = kinds[state.kind];
  const count = (n) => [...Array(n).keys()];
  fill("kinds", kinds.map((k, i) => choice("radio", "kind", i, k.label, k.label)));
  fill("layers", count(kind.layers).map((i) =>
    choice("radio", "layer", i, i, `Layer ${i}`)));
  fill("strengths", STRENGTHS.map((s) => choice("radio", "strength", s,
    `×${s}`, `The opacity of a line is ${s} times its weight`)));
  fill("heads", [
    ...count(kind.heads).map((i) => {
      const label = choice("checkbox", "head", i, i, `Head ${i}`);
      label.style.setProperty("--color", color(i));
      return label;
    }),
    element("button", { type: "button", value: "all" }, "all"),
    element("button", { type: "button", value: "none" }, "none"),
  ]);
}

function checkControls() {
  for (const input of find("controls").querySelectorAll("input")) {
    const value = Number(input.value);
    input.checked = input.name === "head" ? state.heads.has(value)
      : state[input.name] === value;
  }
}

// The tokens -------------------------------------------------------------------------

/** A token as one line of text; half of a surrogate pair is no character. */
const visible = (token) => token.replace(/\n/g, "↵").replace(/\t/g, "⇥")
  .replace(/\p{Surrogate}/gu, "\ufffd") || "∅";

function makeTokens() {
  const kind = kinds[state.kind];
  for (const side of SIDES) {
    find(`${side}-name`).textContent = kind[`${side}Name`];
    find(side).setAttribute("aria-label", kind[`${side}Name`]);
    find(side).replaceChildren(...kind[side].map((token, i) => {
      const text = element("b", { dir: "auto" }, visible(token));
      text.title = text.textContent;
      const item = element("li", { tabIndex: i ? -1 : 0 }, text, element("small"));
      item.setAttribute("role", "option");
      return item;
    }));
  }
  const most = Math.max(kind.from.length, kind.to.length);
  const height = most <= 40 ? 24 : most <= 100 ? 20 : 16;
  document.documentElement.style.setProperty("--row", `${height}px`);
  const size = [`${kind.layers} layers`, `${kind.heads} heads`];
  find("facts").textContent = [find("facts").dataset.model, ...size]
    .filter(Boolean).join(" · ");
}

function showTokens() {
  const now = active(), heads = shown();
  for (const side of SIDES) {
    [...find(side).children].forEach((item, k) => {
      const [text, number] = item.children;
      const own = Boolean(now && side === now[0] && k === now[1]);
      item.classList.toggle("active", own);
      item.setAttribute("aria-selected", own);
      const found = now && side !== now[0] && heads.length ? weights(now, k) : null;
      number.textContent = found ? mean(found).toFixed(3) : "";
      number.title = found ? heads.map((head, n) =>
        `head ${head}: ${found[n].toFixed(5)}`).join("\n") : "";
      item.classList.toggle("weak", Boolean(found && mean(found) < 0.01));
      text.style.backgroundImage = found ? bar(side, heads, found) : "";
    });
  }
}

/** A bar as long as the mean of the weights, in the colors of the heads. */
function bar(side, heads, found) {
  let end = 0;
  const parts = heads.map((head, n) => {
    const start = end;
    end += 100 * found[n] / heads.length;
    return `${color(head)}77 ${start}% ${end}%`;  // pale, so that text stays clear
  });
  const direction = side === "from" ? "to left" : "to right";
  return `linear-gradient(${direction}, ${parts.join(", ")}, transparent ${end}%)`;
}

function showStatus() {
  const kind = kinds[state.kind], now = active(), heads = shown();
  const status = find("status");
  if (!heads.length) return void (status.textContent = "No head is chosen.");
  if (!now) return void (status.textContent = kind.note);
  const [side, token] = now, others = kind[otherSide(side)];
  const ranked = others.map((text, k) => [text, k, mean(weights(now, k))])
    .sort((a, b) => b[2] - a[2]).slice(0, MOST);
  const verb = side === "from" ? "attends most to" : "gets most attention from";
  const whose = heads.length > 1 ? `, mean of ${heads.length} heads`
    : `, head ${heads[0]}`;
  status.replaceChildren(
    element("b", { dir: "auto" }, visible(kind[side][token])),
    ` (token ${token}) ${verb}: `,
    ...ranked.flatMap(([text, k, value], n) => [n ? ", " : "",
      element("i", {}, element("b", { dir: "auto" }, visible(text)),
        ` (${k}) ${value.toFixed(3)}`)]),
    `${whose}.`);
}

// The lines ----------------------------------------------------------------------------

function drawLines() {
  const kind = kinds[state.kind], canvas = find("lines"), heads = shown();
  const row = parseInt(document.documentElement.style.getPropertyValue("--row"), 10);
  const width = canvas.clientWidth;
  const height = row * Math.max(kind.from.length, kind.to.length);
  const scale = Math.min(window.devicePixelRatio || 1, 16000 / height);
  canvas.width = width * scale;
  canvas.height = height * scale;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  // The lines of the heads lie beside each other.
  const step = 0.7 * row / Math.max(heads.length, 2);
  pen.lineWidth = Math.min(3, Math.max(1, step));
  const now = active();
  heads.forEach((head, n) => {
    const shift = (n - (heads.length - 1) / 2) * step + row / 2;
    pen.strokeStyle = color(head);
    kind.from.forEach((_, i) => kind.to.forEach((_, j) => {
      if (now && now[1] !== (now[0] === "from" ? i : j)) return;
      const opacity = weight(head, i, j) * state.strength;
      if (opacity < FAINTEST) return;
      pen.globalAlpha = Math.min(1, opacity);
      pen.beginPath();
      pen.moveTo(0, i * row + shift);
      pen.lineTo(width, j * row + shift);
      pen.stroke();
    }));
  });
}

// Actions ------------------------------------------------------------------------------

function show() {
  showTokens();
  showStatus();
  drawLines();
}

function update() {
  checkControls();
  writeAddress();
  show();
}

function rebuild() {
  pointed = null;
  makeControls();
  makeTokens();
  update();
}

function choose(side, token) {
  Object.assign(state, { side, token });
  pointed = null;
  if (token !== null) {
    for (const item of find(side).children) item.tabIndex = -1;
    find(side).children[token].tabIndex = 0;
  }
  update();
}

function placeOf(target) {
  const item = target.closest("li");
  return item && [item.parentElement.id, [...item.parentElement.children].indexOf(item)];
}

find("controls").addEventListener("change", ({ target }) => {
  const value = Number(target.value);
  if (target.name === "head") {
    target.checked ? state.heads.add(value) : state.heads.delete(value);
    return update();
  }
  state[target.name] = value;
  if (target.name !== "kind") return update();
  const kind = kinds[value];
  const all = state.heads.size && [...state.heads].every((h) => h < kind.heads);
  if (!all) state.heads = new Set(Array(kind.heads).keys());
  state.layer = Math.min(state.layer, kind.layers - 1);
  state.token = null;
  rebuild();
  find("kinds").querySelectorAll("input")[value].focus();
});
find("heads").addEventListener("dblclick", ({ target }) => {
  const input = target.closest("label")?.querySelector("input");
  if (!input) return;
  state.heads = new Set([Number(input.value)]);
  update();
});
find("heads").addEventListener("click", ({ target }) => {
  if (target.tagName !== "BUTTON") return;
  const count = target.value === "all" ? kinds[state.kind].heads : 0;
  state.heads = new Set(Array(count).keys());
  update();
});
find("picture").addEventListener("pointerover", (event) => {
  if (event.pointerType !== "mouse") return;
  pointed = placeOf(event.target);
  show();
});
find("picture").addEventListener("pointerleave", () => {
  pointed = null;
  show();
});
find("picture").addEventListener("click", ({ target }) => {
  const place = placeOf(target);
  if (!place) return;
  const same = place[0] === state.side && place[1] === state.token;
  choose(place[0], same ? null : place[1]);
});
find("picture").addEventListener("focusin", ({ target }) => {
  if (typed && placeOf(target)) choose(...placeOf(target));
});
find("picture").addEventListener("keydown", (event) => {
  const [side, token] = placeOf(event.target) || [];
  if (!side) return;
  const [here, there] = [find(side).children, find(otherSide(side)).children];
  const last = here.length - 1;
  const aims = { ArrowUp: here[Math.max(0, token - 1)],
    ArrowDown: here[Math.min(last, token + 1)], Home: here[0], End: here[last],
    [side === "from" ? "ArrowRight" : "ArrowLeft"]:
      there[Math.min(there.length - 1, token)] };
  if (!(event.key in aims)) return;
  event.preventDefault();
  aims[event.key].focus();
});
document.addEventListener("keydown", (event) => {
  typed = true;
  if (event.key === "Escape") choose("from", null);
}, true);
document.addEventListener("pointerdown", () => { typed = false; }, true);
window.addEventListener("hashchange", () => { readAddress(); rebuild(); });
find("facts").dataset.model = find("facts").textContent;
readAddress();
rebuild();
find(state.side).children[state.token]?.scrollIntoView({ block: "nearest" });
new ResizeObserver(drawLines).observe(find("picture"));
