#pragma once

#include "tests/support/proxy.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::test {

/// The words of a request at the front of these bytes; none: it is not whole yet.
std::vector<std::string> redis_words(std::string_view bytes);

/// How Redis' messages are framed. A request is called by its command, in capitals; a script by its name as well, as in
/// "EVALSHA claim" and "EVAL claim"; one without keys, which only has to be known, is "EVALSHA 0". `scripts` gives the names, by hash and by text.
Framing redis_framing(std::map<std::string, std::string> scripts);

}  // namespace pawl::test
