#include "apps/cli/torture/history.hpp"

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <utility>

namespace pawl::torture {

namespace {

/// Puts the lines of one worker together.
class Reader {
 public:
  Reader(std::string worker, History& history) : worker_(std::move(worker)), history_(history) {}

  bool take(const std::string& line) {
    std::istringstream in(line);
    Nanoseconds time = 0;
    std::string turn, word;
    if (!(in >> time >> turn >> word)) return false;
    if (word == "end") return history_.ended.insert(worker_).second;
    if (word == "ask") return ask(turn, time, in);
    const auto found = open_.find(turn);
    if (found == open_.end()) return false;
    return word == "call" || word == "done" ? access(word, found->second, time, in)
                                            : change(word, found->second, time, in);
  }

  void finish() {
    for (auto& [turn, one] : open_) put(one);
    for (auto& [number, call] : calls_) history_.calls.push_back(call);
  }

 private:
  struct Open {
    Turn turn = {};
    std::string slots = "-";
  };

  std::string actor_of(const std::string& turn) const { return worker_ + "/" + turn.substr(0, turn.find('.')); }

  bool ask(const std::string& turn, Nanoseconds time, std::istream& in) {
    // Turns of a thread follow each other.
    const std::string actor = actor_of(turn);
    if (const auto before = open_.find(last_[actor]); before != open_.end()) {
      put(before->second);
      open_.erase(before);
    }
    last_[actor] = turn;
    Open& one = open_[turn];
    one.turn.actor = actor;
    one.turn.asked = time;
    std::string mode;
    if (!(in >> one.turn.lock >> mode)) return false;
    one.turn.mode = mode == "shared" ? Mode::shared : Mode::exclusive;
    return true;
  }

  bool change(const std::string& word, Open& one, Nanoseconds time, std::istream& in) {
    Turn& turn = one.turn;
    if (word == "granted") {
      turn.granted = time;
      return static_cast<bool>(in >> turn.token >> one.slots);
    }
    if (word == "failed") return static_cast<bool>(in >> turn.failed);
    if (word == "released") return static_cast<bool>(in >> turn.released);
    if (word == "again") {
      std::string lock;
      turn.again = true;
      return static_cast<bool>(in >> lock) && history_.again[turn.actor].insert(lock).second;
    }
    if (word == "valid") {
      if (!turn.first_valid) turn.first_valid = time;
      turn.last_valid = time;
      turn.valid_again = turn.valid_again || turn.invalid;
    } else if (word == "invalid") {
      if (!turn.invalid) turn.invalid = time;
    } else if (word != "release") {
      return false;
    }
    return true;
  }

  bool access(const std::string& word, const Open& one, Nanoseconds time, std::istream& in) {
    std::string number;
    in >> number;
    number = one.turn.actor + "/" + number;
    if (word == "done") {
      const auto found = calls_.find(number);
      if (found == calls_.end()) return false;
      Call call = std::move(found->second);
      calls_.erase(found);
      call.done = time;
      std::string read;
      if (!(in >> call.outcome >> read)) return false;
      if (call.operation == Operation::read) call.value = read;
      history_.calls.push_back(std::move(call));
      return true;
    }
    Call call{.actor = one.turn.actor, .mode = one.turn.mode, .token = one.turn.token, .called = time};
    std::string operation, slot;
    if (!(in >> operation >> slot >> call.value)) return false;
    call.operation = operation == "mark" ? Operation::mark : operation == "read" ? Operation::read : Operation::write;
    call.fence = one.turn.lock + "." + slot;
    calls_[number] = std::move(call);
    return true;
  }

  void put(const Open& one) {
    std::istringstream slots(one.slots);
    for (std::string slot; std::getline(slots, slot, ',');) {
      Turn turn = one.turn;
      turn.slot = slot;
      history_.turns.push_back(std::move(turn));
    }
  }

  const std::string worker_;
  History& history_;
  std::map<std::string, Open> open_ = {};
  std::map<std::string, std::string> last_ = {};  // actor -> its turn
  std::map<std::string, Call> calls_ = {};        // without an answer yet
};

}  // namespace

std::string Turn::told() const {
  std::string text = fmt::format("{} ({} {}, token {}", actor, to_string(mode), resource(), token);
  if (first_valid) text += fmt::format(", valid from {} to {}", *first_valid, *last_valid);
  return text + ")";
}

void read_diary(const std::string& worker, std::istream& in, History& history) {
  Reader reader(worker, history);
  for (std::string line; std::getline(in, line);) {
    // A line without its end was being written when its process was killed.
    if (!in.eof() && !reader.take(line)) history.unreadable.push_back(fmt::format("{}: {}", worker, line));
  }
  reader.finish();
}

History read_history(const Folder& folder) {
  History history;
  for (const auto& file : std::filesystem::directory_iterator(folder.path / "events")) {
    std::ifstream in(file.path());
    read_diary(file.path().filename().string(), in, history);
  }
  for (const auto& file : std::filesystem::directory_iterator(folder.path / "resources"))
    history.resources[file.path().filename().string()] = Resource(file.path()).entries();
  return history;
}

}  // namespace pawl::torture
