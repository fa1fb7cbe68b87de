#include "store/mysql/identity.hpp"

namespace pawl::store::mysql {

Identity identity_of(std::map<std::string, std::string>& variables, std::int64_t now, std::int64_t uptime) {
  return {variables["server_uuid"] + variables["server_uid"] + " " + variables["hostname"] + " " + variables["port"],
          now - uptime};
}

}  // namespace pawl::store::mysql
