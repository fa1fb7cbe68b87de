#include "store/mysql/schema.hpp"

#include "base/lock_name.hpp"
#include "mysql_sql.hpp"

#include <array>

namespace pawl::store::mysql {

namespace {

/// Each ends with a semicolon at the end of a line.
std::vector<std::string> tables() {
  std::vector<std::string> statements;
  const std::string_view text = sql::schema_sql;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find(";\n", begin);
    if (end == std::string_view::npos) break;
    statements.emplace_back(text.substr(begin, end - begin));
    begin = end + 2;
  }
  return statements;
}

std::vector<std::string> all() {
  // pawl_begin last: where it is, everything is.
  const std::array procedures{
      sql::exit_sql,         sql::tell_sql,           sql::fits_sql,        sql::begin_reign_sql,
      sql::grant_sql,        sql::settle_sql,         sql::settle_some_sql, sql::drop_sql,
      sql::end_session_sql,  sql::sweep_sql,          sql::enter_sql,       sql::leave_sql,
      sql::tell_holders_sql, sql::claim_sql,          sql::withdraw_sql,    sql::look_sql,
      sql::downgrade_sql,    sql::relabel_sql,        sql::revoke_sql,      sql::open_session_sql,
      sql::renew_sql,        sql::close_session_sql,  sql::inspect_sql,     sql::succession_sql,
      sql::check_sql,        sql::session_claims_sql, sql::make_row_sql,    sql::lock_row_sql,
      sql::begin_sql};
  std::vector<std::string> statements = tables();
  for (const std::string_view procedure : procedures) statements.emplace_back(procedure);
  return statements;
}

}  // namespace

Result<void> accept_layout(std::string_view found) {
  if (found == layout) return {};
  return Error{Errc::unsupported, "another pawl keeps its locks there, in layout " + base::printable(found)};
}

const std::vector<std::string>& schema_statements() {
  static const std::vector<std::string> statements = all();
  return statements;
}

}  // namespace pawl::store::mysql
