// What the server's error numbers mean to a caller.

#include "store/mysql/connection.hpp"

#include "base/lock_name.hpp"

#include <mariadb/errmsg.h>
#include <mariadb/mysqld_error.h>

namespace pawl::store::mysql {

Error error_of(const Answer& refusal) {
  const std::string why = base::printable(refusal.why, 300);
  switch (refusal.refused) {
    case ER_ACCESS_DENIED_ERROR:
    case ER_DBACCESS_DENIED_ERROR:
    case ER_TABLEACCESS_DENIED_ERROR:
    case ER_COLUMNACCESS_DENIED_ERROR:
    case ER_SPECIFIC_ACCESS_DENIED_ERROR:
    case ER_PROCACCESS_DENIED_ERROR:
    case ER_ACCESS_DENIED_NO_PASSWORD_ERROR: return {Errc::permission_denied, why};
    case ER_BAD_DB_ERROR: return {Errc::invalid_argument, why + "; CREATE DATABASE makes it"};
    case CR_SSL_CONNECTION_ERROR: {
      // The same number also for a server that breaks off. Only what was verified and refused will be so again.
      const bool refused = why.find("certificate") != std::string::npos;
      return {refused ? Errc::permission_denied : Errc::store_unavailable, "TLS: " + why};
    }
    default: return {Errc::store_unavailable, why + " (error " + std::to_string(refusal.refused) + ")"};
  }
}

bool rolled_back(unsigned refused) { return refused == ER_LOCK_DEADLOCK || refused == ER_LOCK_WAIT_TIMEOUT; }

bool must_reconnect(unsigned refused) {
  constexpr unsigned read_only_mode = 1836;
  return refused == ER_OPTION_PREVENTS_STATEMENT || refused == read_only_mode || refused == ER_SP_DOES_NOT_EXIST ||
         refused == ER_NO_SUCH_TABLE || refused == ER_QUERY_INTERRUPTED || refused == ER_SERVER_SHUTDOWN;
}

}  // namespace pawl::store::mysql
