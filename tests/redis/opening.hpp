#pragma once

#include <pawl/pawl.hpp>

#include <string>

namespace pawl {

/// Why no client can be opened with that URL; no error: one can.
inline Error error_of(const std::string& url) {
  const Result<Client> client = Client::open(url);
  return client ? Error{} : client.error();
}

}  // namespace pawl
