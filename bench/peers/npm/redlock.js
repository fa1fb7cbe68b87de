// npm's redlock as a participant: the line protocol of bench/README.md. One connection per server and process; each waiter is an
// async function.
"use strict";

const readline = require("readline");
const Redis = require("ioredis");

const lease = 30000;
const pause = 200; // its default

// On Linux, this is CLOCK_MONOTONIC.
const now = () => Number(process.hrtime.bigint());
const milliseconds = (nanoseconds) => nanoseconds / 1e6;

function sleepUntil(at) {
  const left = milliseconds(at - now());
  return new Promise((done) => (left > 0 ? setTimeout(done, left) : done()));
}

let nodes = [];
let redlock;
const held = new Map();

// A command on a broken connection fails at once, and one that is not answered does so as soon as pawl's: both wait for ever by
// default.
async function open(url, scheme) {
  nodes.forEach((node) => node.disconnect());
  const hosts = url.replace(/^[a-z]+:\/\//, "").split(",");
  const connect = (host) => new Redis(`redis://${host}`, { enableOfflineQueue: false, commandTimeout: 500 });
  nodes = hosts.map(connect);
  nodes.forEach((node) => node.on("error", () => {}));
  await Promise.all(nodes.map((node) => new Promise((done) => node.once("ready", done))));
  const Redlock = scheme === "redlock-5" ? require(scheme).default : require(scheme);
  redlock = new Redlock(nodes);
  redlock.on("clientError", () => {});
  redlock.version = scheme === "redlock-5" ? 5 : 4;
}

class Lock {
  constructor(name) {
    this.name = name;
  }

  // Its own pauses, and as many tries as there is time for.
  async acquire(until) {
    const left = milliseconds(until - now());
    if (left <= 0) return false;
    const settings = { retryCount: Math.max(1, Math.ceil(left / pause)) };
    const take = redlock.version === 5 ? redlock.acquire : redlock.lockWithOptions;
    try {
      this.held = await take.call(redlock, [this.name], lease, settings);
      return true;
    } catch (error) {
      if (error.name === "LockError" || error.name === "ExecutionError") return false;
      throw error;
    }
  }

  async release() {
    await redlock.release(this.held);
  }
}

async function pairs(name, length) {
  const lock = new Lock(name);
  const samples = [];
  const end = now() + length * 1e6;
  for (let begin = now(); begin < end; ) {
    if (!(await lock.acquire(end + 1e9))) throw new Error(`somebody else holds ${name}`);
    await lock.release();
    const done = now();
    samples.push(done - begin);
    begin = done;
  }
  samples.sort((one, two) => one - two);
  const size = samples.length;
  return `${size} ${samples[Math.floor(size / 2)]} ${samples[Math.floor((size * 99) / 100)]}`;
}

async function waiter(name, index, hold, start, end) {
  const lock = new Lock(name);
  let report = "";
  await sleepUntil(start + index * 1e6);
  for (let asked = now(); asked < end; asked = now()) {
    const acquired = await lock.acquire(end);
    const since = now();
    if (!acquired) return `${report} ${asked},0,0`;
    if (hold > 0) await sleepUntil(since + hold * 1000);
    const released = now();
    await lock.release();
    report += ` ${asked},${since},${released}`;
  }
  return report;
}

async function contend(name, clients, hold, start, end) {
  const all = Array.from({ length: clients }, (_, index) => waiter(name, index, hold, start, end));
  return (await Promise.all(all)).join(" |");
}

async function take(name) {
  if (!held.has(name)) held.set(name, new Lock(name));
  if (!(await held.get(name).acquire(now() + 10e9))) throw new Error(`somebody else holds ${name}`);
  return String(now());
}

async function give(name) {
  const released = now();
  await held.get(name).release();
  return String(released);
}

async function answer([verb, ...words]) {
  if (verb === "open") return open(words[0], words[1]);
  if (verb === "prepare") return "";
  if (verb === "take") return take(words[0]);
  if (verb === "give") return give(words[0]);
  if (verb === "pairs") return pairs(words[0], Number(words[1]));
  if (verb === "contend") return contend(words[0], ...words.slice(1).map(Number));
  throw new Error(`no such request: ${verb}`);
}

async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    if (line === "quit") break;
    try {
      console.log(`ok ${(await answer(line.trim().split(/\s+/))) || ""}`.trim());
    } catch (error) {
      console.log(`error ${String(error).replace(/\n/g, " ")}`);
    }
  }
  process.exit(0);
}

main();
