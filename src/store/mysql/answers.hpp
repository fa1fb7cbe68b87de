#pragma once

#include "store/claim.hpp"
#include "store/mysql/connection.hpp"
#include "store/store.hpp"

#include <pawl/lock_view.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// What the procedures answer, as values of the port.
namespace pawl::store::mysql {

std::uint64_t number(std::string_view text);
std::int64_t signed_number(std::string_view text);
/// Microseconds.
Duration duration(std::string_view text);
std::string microseconds(Duration duration);

/// Of pawl_claim.
Result<ClaimState> state_of(const std::vector<Row>& rows, const Claim& claim);
/// Of pawl_look.
Result<Standing> standing_of(const std::vector<Row>& rows);
/// Of pawl_renew, for a session that lives.
Renewal renewal_of(const std::vector<Row>& rows);
/// Of pawl_inspect, all pages of it: a view for each lock.
std::vector<LockView> views_of(const std::vector<Row>& rows, std::string_view scheme);
/// Of pawl_succession.
Result<Succession> succession_of(const std::vector<Row>& rows, Token after);
/// A row of pawl_mail, as the listener reads it.
Notice notice_of(const Row& row);

/// Galera, or Group Replication with several primaries: of the server's variables, by name.
bool has_many_writers(const std::map<std::string, std::string>& variables);

Error unexpected();

}  // namespace pawl::store::mysql
