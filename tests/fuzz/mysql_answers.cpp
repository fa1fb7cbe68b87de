// What a MySQL server answers: whatever the rows are, the answers that are made of them are values.
// Input: rows, one on each line, with tabs between their fields. All have as many as the first one, as in any result.

#include "store/mysql/answers.hpp"
#include "tests/fuzz/fuzz.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <vector>

namespace pawl::fuzz::mysql_answers {

using namespace store::mysql;

std::vector<Row> rows_of(std::string_view input) {
  std::vector<Row> rows;
  while (!input.empty()) {
    std::string_view line = take_part(input, '\n');
    Row row;
    do {
      row.emplace_back(take_part(line, '\t'));
    } while (!line.empty());
    if (!rows.empty()) row.resize(rows.front().size());
    rows.push_back(std::move(row));
  }
  return rows;
}

store::Claim some_claim() {
  const store::LockKey key{Kind::permits, store::LockName::make("job").value()};
  return {.id = {1, 2}, .session = {3, 4}, .key = key, .permits = {1, 3}};
}

void check_views(const std::vector<Row>& rows) {
  const std::vector<LockView> views = views_of(rows, "queue");
  std::size_t claims = 0;
  for (const LockView& view : views) {
    claims += view.holders.size() + view.waiters.size();
    for (const ClaimView& holder : view.holders) must(holder.lease_left >= Duration::zero(), "no lease is negative");
  }
  must(claims <= rows.size() && views.size() <= rows.size(), "no claim and no lock is made up");
}

void check_times(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    for (const std::string& field : row) {
      const Duration read = store::mysql::duration(field);
      must(read - -read == 2 * read, "two times have a difference");
      must(store::mysql::duration(microseconds(read)) == read, "a time that is written is read again");
    }
  }
}

void run(std::string_view input) {
  static const store::Claim claim = some_claim();
  const std::vector<Row> rows = rows_of(input);
  const auto state = state_of(rows, claim);
  if (!state) must(!state.error().message.empty(), "an error has a sentence");
  std::ignore = standing_of(rows);
  // Who asks for a renewal looks at the number of fields first.
  if (!rows.empty() && rows.front().size() == 3) {
    const store::Renewal renewal = renewal_of(rows);
    must(!renewal.changed || renewal.changed->size() <= rows.size(), "no claim is made up");
  }
  check_views(rows);
  const auto succession = succession_of(rows, Token(1, 1));
  if (succession) must(succession->reigns.size() <= rows.size(), "no leader is made up");
  for (const Row& row : rows) std::ignore = notice_of(row);
  check_times(rows);
}

}  // namespace pawl::fuzz::mysql_answers

PAWL_FUZZ_TARGET(mysql_answers, pawl::fuzz::mysql_answers::run);
