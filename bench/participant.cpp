#include "bench/participant.hpp"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <iostream>
#include <map>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

namespace pawl::bench {

namespace {

constexpr std::int64_t millisecond = 1'000'000;

void sleep_until(std::int64_t at) {
  const timespec when{.tv_sec = at / 1'000'000'000, .tv_nsec = at % 1'000'000'000};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr) != 0) {
  }
}

/// Runs a part in each of so many threads; what one of them throws is thrown here.
template <class Part>
void in_threads(int count, Part part) {
  std::mutex mutex;
  std::exception_ptr first;
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      try {
        part(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!first) first = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

/// "COUNT MEDIAN P99", in nanoseconds.
std::string summary(std::vector<std::int64_t> samples) {
  if (samples.empty()) throw std::runtime_error("nothing was measured");
  std::sort(samples.begin(), samples.end());
  const std::size_t size = samples.size();
  return std::to_string(size) + " " + std::to_string(samples[size / 2]) + " " +
         std::to_string(samples[size * 99 / 100]);
}

std::string pairs(Participant& participant, std::istringstream& words) {
  std::string name;
  std::int64_t length = 0;
  words >> name >> length;
  const auto lock = participant.lock(name, 0);
  std::vector<std::int64_t> samples;
  samples.reserve(100'000);
  const std::int64_t end = now() + length * millisecond;
  for (std::int64_t begin = now(); begin < end;) {
    if (!lock->acquire(end + 1000 * millisecond)) throw std::runtime_error("somebody else holds " + name);
    lock->release();
    const std::int64_t done = now();
    samples.push_back(done - begin);
    begin = done;
  }
  return summary(std::move(samples));
}

std::string threads(Participant& participant, std::istringstream& words) {
  std::string name;
  int count = 0;
  std::int64_t length = 0;
  words >> name >> count >> length;
  std::vector<std::unique_ptr<Lock>> locks;
  for (int i = 0; i < count; ++i) locks.push_back(participant.lock_of_thread(name, i));
  std::atomic<std::uint64_t> total{0};
  const std::int64_t begin = now();
  const std::int64_t end = begin + length * millisecond;
  in_threads(count, [&](int i) {
    Lock& lock = *locks[static_cast<std::size_t>(i)];
    std::uint64_t held = 0;
    for (; now() < end && lock.acquire(end); ++held) lock.release();
    total += held;
  });
  return std::to_string(total) + " " + std::to_string(now() - begin);
}

std::string contend(Participant& participant, std::istringstream& words) {
  std::string name;
  int clients = 0;
  std::int64_t hold = 0;
  std::int64_t start = 0;
  std::int64_t end = 0;
  words >> name >> clients >> hold >> start >> end;
  std::vector<std::unique_ptr<Lock>> locks;
  for (int i = 0; i < clients; ++i) locks.push_back(participant.lock(name, i));
  std::vector<std::string> reports(static_cast<std::size_t>(clients));
  in_threads(clients, [&](int i) {
    Lock& lock = *locks[static_cast<std::size_t>(i)];
    std::string& report = reports[static_cast<std::size_t>(i)];
    sleep_until(start + i * millisecond);  // so that those of all processes stand mixed in a queue
    for (;;) {
      const std::int64_t asked = now();
      if (asked >= end) return;
      const bool acquired = lock.acquire(end);
      const std::int64_t since = now();
      if (!acquired) {
        report += " " + std::to_string(asked) + ",0,0";
        return;
      }
      if (hold > 0) sleep_until(since + hold * 1000);
      const std::int64_t released = now();
      lock.release();
      report += " " + std::to_string(asked) + "," + std::to_string(since) + "," + std::to_string(released);
    }
  });
  std::string all;
  for (const std::string& report : reports) all += report + " |";
  return all;
}

using Held = std::map<std::string, std::unique_ptr<Lock>>;

std::string take(Participant& participant, Held& held, const std::string& name) {
  std::unique_ptr<Lock>& lock = held[name];
  if (!lock) lock = participant.lock(name, 0);
  if (!lock->acquire(now() + 10'000 * millisecond)) throw std::runtime_error("somebody else holds " + name);
  return std::to_string(now());
}

std::string give(Held& held, const std::string& name) {
  const std::int64_t released = now();
  held.at(name)->release();
  return std::to_string(released);
}

std::string answer(Participant& participant, Held& held, const std::string& line) {
  std::istringstream words(line);
  std::string verb;
  words >> verb;
  if (verb == "open") {
    std::string url;
    std::string scheme;
    int clients = 1;
    words >> url >> scheme >> clients;
    held.clear();
    participant.open(url, scheme, clients);
    return {};
  }
  if (verb == "pairs") return pairs(participant, words);
  if (verb == "threads") return threads(participant, words);
  if (verb == "contend") return contend(participant, words);
  std::string name;
  words >> name;
  if (verb == "take") return take(participant, held, name);
  if (verb == "give") return give(held, name);
  if (verb != "prepare") throw std::runtime_error("no such request: " + verb);
  participant.prepare(name);
  return {};
}

}  // namespace

std::int64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

int serve(Participant& participant) {
  Held held;
  for (std::string line; std::getline(std::cin, line) && line != "quit";) {
    try {
      const std::string words = answer(participant, held, line);
      std::cout << (words.empty() ? "ok" : "ok " + words) << std::endl;
    } catch (const std::exception& error) {
      std::cout << "error " << error.what() << std::endl;
    }
  }
  return 0;
}

}  // namespace pawl::bench
