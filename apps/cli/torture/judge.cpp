#include "apps/cli/torture/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace pawl::torture {

namespace {

using Complaints = std::vector<Complaint>;
using Turns = std::vector<const Turn*>;

/// The turns of each resource that fulfil a condition.
template <class Condition>
std::map<std::string, Turns> by_resource(const History& history, Condition wanted) {
  std::map<std::string, Turns> all;
  for (const Turn& turn : history.turns) {
    if (wanted(turn)) all[turn.resource()].push_back(&turn);
  }
  return all;
}

bool exclude(const Turn& a, const Turn& b) { return a.mode == Mode::exclusive || b.mode == Mode::exclusive; }

/// Which turn with one mode is the last or the largest so far, in some order.
struct Foremost {
  const Turn* exclusive = nullptr;
  const Turn* shared = nullptr;

  template <class Before>
  void add(const Turn& turn, Before before) {
    const Turn*& its = turn.mode == Mode::exclusive ? exclusive : shared;
    if (its == nullptr || before(*its, turn)) its = &turn;
  }
  /// Those that exclude it.
  Turns against(const Turn& turn) const {
    Turns all;
    if (exclusive != nullptr) all.push_back(exclusive);
    if (shared != nullptr && exclude(turn, *shared)) all.push_back(shared);
    return all;
  }
};

bool smaller_token(const Turn& a, const Turn& b) { return a.token < b.token; }

void look_for_overlaps(const History& history, Complaints& complaints) {
  for (auto& [resource, turns] : by_resource(history, [](const Turn& turn) { return turn.first_valid.has_value(); })) {
    std::sort(turns.begin(), turns.end(), [](auto* a, auto* b) { return *a->first_valid < *b->first_valid; });
    Foremost last;
    for (const Turn* turn : turns) {
      for (const Turn* other : last.against(*turn)) {
        if (*other->last_valid < *turn->first_valid) continue;
        complaints.push_back({"overlap", fmt::format("{} while {}", turn->told(), other->told())});
      }
      last.add(*turn, [](const Turn& a, const Turn& b) { return *a.last_valid < *b.last_valid; });
    }
  }
}

/// Those that were believed in follow each other as their beliefs do. (One that was over before its process looked may have
/// been stopped on the way: nobody knows when it was granted.)
void look_at_tokens_of_beliefs(const History& history, Complaints& complaints) {
  for (auto& [resource, turns] : by_resource(history, [](const Turn& turn) { return turn.first_valid.has_value(); })) {
    std::sort(turns.begin(), turns.end(), [](auto* a, auto* b) { return *a->first_valid < *b->first_valid; });
    Foremost largest;
    for (const Turn* turn : turns) {
      for (const Turn* other : largest.against(*turn)) {
        if (other->token < turn->token) continue;
        complaints.push_back({"order", fmt::format("{} came after {}", turn->told(), other->told())});
      }
      largest.add(*turn, smaller_token);
    }
  }
}

/// Every grant, believed in or not, is later than those that had been reported before it was asked for.
void look_at_tokens_of_grants(const History& history, Complaints& complaints) {
  for (const auto& [resource, turns] :
       by_resource(history, [](const Turn& turn) { return turn.granted.has_value(); })) {
    Turns asked = turns, granted = turns;
    std::sort(asked.begin(), asked.end(), [](auto* a, auto* b) { return a->asked < b->asked; });
    std::sort(granted.begin(), granted.end(), [](auto* a, auto* b) { return *a->granted < *b->granted; });
    Foremost largest;
    auto next = granted.begin();
    for (const Turn* turn : asked) {
      for (; next != granted.end() && *(*next)->granted < turn->asked; ++next) largest.add(**next, smaller_token);
      for (const Turn* other : largest.against(*turn)) {
        if (other->token < turn->token) continue;
        complaints.push_back(
            {"order", fmt::format("{} was asked for after the grant of {}", turn->told(), other->told())});
      }
    }
  }
}

void look_at_resources(const History& history, Complaints& complaints) {
  for (const auto& [resource, entries] : history.resources) {
    const Entry* before = nullptr;
    for (const Entry& entry : entries) {
      const std::string value = before == nullptr ? Resource::nothing : before->value;
      if (before != nullptr && entry.token < before->token) {
        complaints.push_back(
            {"overtaken", fmt::format("{}: {} with token {} was written after {} with token {}", resource, entry.value,
                                      entry.token, before->value, before->token)});
      }
      if (entry.before != value) {
        complaints.push_back({"update", fmt::format("{}: the writer of {} had read {}, and replaced {}", resource,
                                                    entry.value, entry.before, value)});
      }
      before = &entry;
    }
  }
}

/// No operation is admitted that was called after a mark (or a write) with a larger token had returned.
void look_at_marks(const History& history, Complaints& complaints) {
  std::map<std::string, std::vector<const Call*>> fences;
  for (const Call& call : history.calls) {
    if (call.done && call.outcome == "ok") fences[call.fence].push_back(&call);
  }
  for (auto& [fence, done] : fences) {
    std::vector<const Call*> called = done;
    std::sort(called.begin(), called.end(), [](auto* a, auto* b) { return a->called < b->called; });
    std::sort(done.begin(), done.end(), [](auto* a, auto* b) { return *a->done < *b->done; });
    std::string exclusive, shared;
    auto next = done.begin();
    for (const Call* call : called) {
      for (; next != done.end() && *(*next)->done < call->called; ++next) {
        std::string& mark = (*next)->mode == Mode::exclusive ? exclusive : shared;
        mark = std::max(mark, (*next)->token);
      }
      const bool overtaken = call->token < exclusive || (call->mode == Mode::exclusive && call->token <= shared);
      if (!overtaken) continue;
      complaints.push_back(
          {"overtaken",
           fmt::format("{}: {} with token {} was admitted at {}, after the marks {} and {}", fence, call->actor,
                       call->token, call->called, exclusive.empty() ? "-" : exclusive, shared.empty() ? "-" : shared)});
    }
  }
}

void look_at_confirmations(const History& history, Complaints& complaints) {
  std::set<std::string> written;
  for (const auto& [resource, entries] : history.resources) {
    for (const Entry& entry : entries) written.insert(entry.value);
  }
  for (const Call& call : history.calls) {
    if (call.operation != Operation::write || !call.done) continue;
    const bool there = written.contains(call.value);
    if (there == (call.outcome == "ok")) continue;
    complaints.push_back({"written", fmt::format("{}: {} was {}, and {}", call.fence, call.value, call.outcome,
                                                 there ? "is there" : "is missing")});
  }
}

/// What a caller may be told while servers, network and processes fail.
bool explained(const std::string& error) {
  static const std::set<std::string> usual{
      "", "ok", "busy", "timed_out", "store_unavailable", "outcome_unknown", "lost", "overloaded"};
  return usual.contains(error);
}

/// A fence that has followed a store to its new life calls tokens of the one before `other_store`.
bool explained_by_a_fence(const Call& call, bool forgets) {
  return call.outcome == "ok" || call.outcome == "overtaken" || (forgets && call.outcome == "other_store");
}

void look_at_turns(const History& history, bool forgets, Complaints& complaints) {
  for (const Turn& turn : history.turns) {
    if (turn.valid_again) complaints.push_back({"resurrected", turn.told()});
    for (const auto& [call, error] : {std::pair{"acquire", turn.failed}, std::pair{"release", turn.released}}) {
      if (!explained(error)) complaints.push_back({"error", fmt::format("{}: {}() said {}", turn.told(), call, error)});
    }
  }
  for (const Call& call : history.calls) {
    if (!call.done || explained_by_a_fence(call, forgets)) continue;
    complaints.push_back({"error", fmt::format("{}: the fence of {} said {}", call.actor, call.fence, call.outcome)});
  }
}

std::set<std::string> actors_of(const History& history, const std::string& worker) {
  std::set<std::string> actors;
  for (const Turn& turn : history.turns) {
    if (turn.actor.substr(0, turn.actor.find('/')) == worker) actors.insert(turn.actor);
  }
  return actors;
}

void look_at_the_end(const History& history, const Expected& expected, Complaints& complaints) {
  for (const std::string& worker : expected.workers) {
    if (!history.ended.contains(worker)) complaints.push_back({"again", worker + " did not come to its end"});
    const std::set<std::string> actors = actors_of(history, worker);
    if (actors.empty()) complaints.push_back({"again", worker + " did nothing"});
    for (const std::string& actor : actors) {
      const auto found = history.again.find(actor);
      for (const std::string& lock : expected.locks) {
        if (found != history.again.end() && found->second.contains(lock)) continue;
        complaints.push_back({"again", fmt::format("{} did not get {} again", actor, lock)});
      }
    }
  }
}

}  // namespace

std::vector<Complaint> judge(const History& history, const Expected& expected) {
  Complaints complaints;
  for (const std::string& line : history.unreadable) complaints.push_back({"log", line});
  if (!expected.forgets) {
    look_for_overlaps(history, complaints);
    look_at_tokens_of_beliefs(history, complaints);
  }
  look_at_tokens_of_grants(history, complaints);
  look_at_resources(history, complaints);
  look_at_marks(history, complaints);
  look_at_confirmations(history, complaints);
  look_at_turns(history, expected.forgets, complaints);
  look_at_the_end(history, expected, complaints);
  return complaints;
}

}  // namespace pawl::torture
