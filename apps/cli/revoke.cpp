#include "apps/cli/context.hpp"
#include "apps/cli/table.hpp"
#include "apps/cli/views.hpp"
#include "base/lock_name.hpp"

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include <unistd.h>

#include <charconv>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace pawl::cli {

namespace {

struct RevokeWish {
  std::string name = {};
  std::string scheme = {};
  std::optional<Kind> kind = {};
  std::string claim = {};
  bool now = false;
};

/// Somebody who can be meant.
struct Candidate {
  Kind kind;
  ClaimView claim;
  bool holds;
};

/// Holders, and with a claim's id (or its beginning) also waiters.
std::vector<Candidate> candidates(const std::vector<LockView>& views, const std::string& claim) {
  std::vector<Candidate> found;
  for (const LockView& view : views) {
    for (const ClaimView& holder : view.holders) {
      if (holder.claim.starts_with(claim)) found.push_back({view.kind, holder, true});
    }
    for (const ClaimView& waiter : view.waiters) {
      if (!claim.empty() && waiter.claim.starts_with(claim)) found.push_back({view.kind, waiter, false});
    }
  }
  return found;
}

std::string describe_candidate(const Candidate& candidate) {
  return fmt::format("{} ({}, {} for {} by {})", candidate.claim.claim, to_string(candidate.kind),
                     candidate.holds ? "held" : "awaited", format_age(candidate.claim.age),
                     format_who(candidate.claim));
}

/// On a terminal only; anything but a number is no answer.
std::size_t ask_which(const std::vector<Candidate>& found, const RevokeWish& wish) {
  fmt::print(stderr, "{} can mean {} claims:\n", in_quotes(wish.name), found.size());
  for (std::size_t i = 0; i < found.size(); ++i) fmt::print(stderr, "  {}  {}\n", i + 1, describe_candidate(found[i]));
  fmt::print(stderr, "Which one (1-{}, Enter for none)? ", found.size());
  std::string line;
  std::getline(std::cin, line);
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  const bool whole = error == std::errc{} && end == line.data() + line.size();
  if (whole && number >= 1 && number <= found.size()) return number - 1;
  throw Failure{answer_no, "nothing was revoked"};
}

Failure ambiguous(const std::vector<Candidate>& found, const RevokeWish& wish) {
  std::string list;
  for (const Candidate& candidate : found) list += (list.empty() ? "" : "; ") + describe_candidate(candidate);
  return {own_failure, fmt::format("{} can mean {} claims, say which one with --claim or --kind: {}",
                                   in_quotes(wish.name), found.size(), list)};
}

Candidate choose(const std::vector<Candidate>& found, const RevokeWish& wish) {
  if (found.empty() && wish.claim.empty())
    throw Failure{answer_no, fmt::format("nobody holds {}", in_quotes(wish.name))};
  if (found.empty()) {
    throw Failure{answer_no, fmt::format("no claim \"{}\" holds or awaits {}", base::printable(wish.claim, 40),
                                         in_quotes(wish.name))};
  }
  if (found.size() == 1) return found.front();
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDERR_FILENO) == 0) throw ambiguous(found, wish);
  return found[ask_which(found, wish)];
}

void revoke(const RevokeWish& wish, const Context& context) {
  Client client = open_client(context, {.scheme = wish.scheme});
  const Candidate chosen = choose(candidates(views_of(client, wish.name, wish.kind), wish.claim), wish);
  if (!chosen.holds && !wish.now) {
    throw Failure{own_failure,
                  fmt::format("claim {} waits and holds nothing that it could let go; --now takes it out of "
                              "the queue",
                              chosen.claim.claim)};
  }
  value_or_fail(client.revoke(wish.name, {.now = wish.now, .claim = chosen.claim.claim}, chosen.kind));
  const char* done = !wish.now ? "asked to let go of" : chosen.holds ? "taken away:" : "taken out of the queue of";
  fmt::print("{} {}: {}\n", done, in_quotes(wish.name), format_who(chosen.claim));
}

}  // namespace

void add_revoke(CLI::App& app, Context& context) {
  CLI::App* command = app.add_subcommand("revoke", "Ask a holder to let go, or take its lock away");
  const auto wish = std::make_shared<RevokeWish>();
  add_name(*command, wish->name);
  command->add_flag(
      "--now", wish->now,
      "Do not ask: take it away. The holder may still be at\nwork; only a fence stops what it writes now");
  add_kind(*command, wish->kind);
  command
      ->add_option("--claim", wish->claim,
                   "Which holder or waiter; \"pawl show\" tells the ids, the\nbeginning of one is enough")
      ->option_text("ID");
  add_scheme(*command, wish->scheme);
  add_store_option(*command, context.store_after);
  describe(*command, "pawl revoke [OPTIONS] NAME",
           "Without --now the holder is asked: \"pawl run\" sends TERM to its command, a program\n"
           "sees release_requested(). The lock is free when the holder lets go.\n"
           "If several can be meant, pawl asks which one; not on a terminal, that is an error.\n"
           "\n"
           "Examples:\n"
           "  pawl revoke backup\n"
           "  pawl revoke --now backup\n"
           "  pawl revoke --claim 3f2a backup");
  command->callback([wish, &context] { revoke(*wish, context); });
}

}  // namespace pawl::cli
