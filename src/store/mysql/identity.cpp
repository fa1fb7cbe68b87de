#include "store/mysql/identity.hpp"

#include "store/mysql/answers.hpp"

namespace pawl::store::mysql {

Identity identity_of(std::map<std::string, std::string>& variables, std::string_view now, std::string_view uptime) {
  return {variables["server_uuid"] + variables["server_uid"] + " " + variables["hostname"] + " " + variables["port"],
          static_cast<std::int64_t>(number(now) - number(uptime))};
}

}  // namespace pawl::store::mysql
