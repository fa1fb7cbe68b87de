// npm's redlock behind the line protocol of tests/interop/peer.hpp.
//
// usage: redlock_lock.js MODULE PORT...    redlock or redlock-5; the servers on the loopback address
"use strict";

const fs = require("fs");
const readline = require("readline");
const Redis = require("ioredis");

const [name, ...ports] = process.argv.slice(2);
const Redlock = name === "redlock-5" ? require(name).default : require(name);
const nodes = ports.map((port) => new Redis(Number(port), "127.0.0.1"));
// Short: what a failed try has got stays in version 5 until all tries are over. By chance it keeps itself out with that,
// until the lease is over.
const usualLease = 15000;
const pause = 20;
const held = new Map();

// As many tries as there is time for: wait 0 is one, -1 for ever. A release is tried once: version 5 repeats it as often as
// an acquire, also when the lock is not its own any more.
function redlock(wait) {
  const retryCount = wait < 0 ? -1 : Math.ceil(wait / pause);
  return new Redlock(nodes, { retryCount, retryDelay: pause, retryJitter: pause / 2 });
}

const once = redlock(0);

function take(lock, lease, wait) {
  return redlock(wait).acquire([lock], lease < 0 ? usualLease : lease);
}

async function bump(file) {
  const number = Number(fs.readFileSync(file, "utf8"));
  await new Promise((done) => setTimeout(done, 1)); // what another client writes meanwhile is lost, or what we write
  fs.writeFileSync(file, String(number + 1));
}

async function owned(lock) {
  const mine = held.get(lock);
  const values = await Promise.all(nodes.map((node) => node.get(lock)));
  return 2 * values.filter((value) => mine && value === mine.value).length > nodes.length;
}

const commands = {
  async acquire(lock, lease, wait) {
    held.set(lock, await take(lock, Number(lease), Number(wait)));
  },
  async release(lock) {
    const mine = held.get(lock);
    held.delete(lock);
    await once.release(mine);
  },
  async extend(lock, more) {
    held.set(lock, await once.extend(held.get(lock), Number(more)));
  },
  async visit(lock, file, times) {
    for (let i = 0; i < Number(times); ++i) {
      const mine = await take(lock, usualLease, -1);
      await bump(file);
      await once.release(mine);
    }
  },
  owned,
  bump,
};

// LockError (4) and ExecutionError (5): too few nodes agreed.
async function answer(words) {
  try {
    const result = await commands[words[0]](...words.slice(1));
    return result === undefined ? "ok" : `ok ${result}`;
  } catch (error) {
    return words[0] === "acquire" ? "no" : `no ${error.name}`;
  }
}

async function main() {
  await Promise.all(nodes.map((node) => node.ping()));
  console.log("ready");
  for await (const line of readline.createInterface({ input: process.stdin })) {
    if (line.trim() === "quit") break;
    console.log(await answer(line.trim().split(/\s+/)));
  }
  process.exit(0);
}

main();
