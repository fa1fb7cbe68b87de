#include "store/etcd/news.hpp"

#include "base/ids.hpp"
#include "store/record.hpp"

namespace pawl::store::etcd {

std::string Letter::to_text() const {
  Words words;
  words.put("claim", to_string(claim));
  words.put("what", taken_away ? "gone" : "asked");
  return words.to_text();
}

std::optional<Letter> Letter::parse(std::string_view text) {
  const std::optional<Words> words = Words::parse(text);
  Letter letter;
  if (!words || !base::parse_hex(words->text("claim"), letter.claim.high, letter.claim.low)) return std::nullopt;
  letter.taken_away = words->text("what") == "gone";
  return letter;
}

void News::told(ClaimId claim) {
  ++changes_;
  unasked_.insert(claim);
}

Renewal News::renewal() const {
  Renewal renewal{.changes = changes_};
  if (unasked_.size() <= most_named) renewal.changed.emplace(unasked_.begin(), unasked_.end());
  return renewal;
}

}  // namespace pawl::store::etcd
