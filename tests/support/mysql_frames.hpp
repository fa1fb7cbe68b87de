#pragma once

#include "tests/support/proxy.hpp"

#include <functional>

namespace pawl::test {

/// How the protocol of MySQL and MariaDB is framed, for each connection anew: an answer is all packets of a statement's
/// results. A request is called by its first two words, as in "CALL pawl_claim" or "COMMIT"; preparing it is
/// "prepare CALL pawl_claim". What belongs to the login passes.
/// Limit: connections without TLS and without compression.
std::function<Framing()> mysql_framing();

/// The same, and a client is told another number for its connection than the server has for it, as by a proxy that shares
/// connections between clients.
std::function<Framing()> mysql_framing_with_other_numbers();

}  // namespace pawl::test
