#include "store/redlock/release.hpp"

#include "store/redis/answers.hpp"

#include <algorithm>

namespace pawl::store::redlock {

Unsettled Unsettled::over_any_link() {
  Unsettled any;
  any.over_ = Over::several;
  return any;
}

void Unsettled::add(std::uint64_t link) {
  const bool same = over_ == Over::none || (over_ == Over::one && link_ == link);
  over_ = same ? Over::one : Over::several;
  link_ = link;
}

void Unsettled::add(const Unsettled& others) {
  if (others.over_ == Over::one) add(others.link_);
  if (others.over_ == Over::several) over_ = Over::several;
}

bool Unsettled::may_arrive_behind(std::uint64_t link) const {
  return over_ == Over::several || (over_ == Over::one && link_ != link);
}

void Release::merge(const Release& newer) {
  lock_delay = newer.lock_delay;
  up_to_try = std::max(up_to_try, newer.up_to_try);
  unsettled.add(newer.unsettled);
  goes_on_waiting = newer.goes_on_waiting;
}

Words words_of(const Config& config, const Claim& claim, const Release& how, std::uint64_t link) {
  const bool tombstone = how.unsettled.may_arrive_behind(link);
  Words words{to_string(claim.id), key_of(config, claim.key), lock_id(claim.key)};
  words.push_back(redis::milliseconds(how.lock_delay));
  words.push_back(std::to_string(how.up_to_try));
  words.push_back(redis::milliseconds(tombstone ? tombstone_life : Duration::zero()));
  words.push_back(how.goes_on_waiting ? "1" : "0");
  return words;
}

}  // namespace pawl::store::redlock
