#pragma once

#include <pawl/pawl.hpp>

#include <string>
#include <vector>

namespace pawl {

/// Why no client can be opened with that URL; no error: one can.
inline Error error_of(const std::string& url) {
  const Result<Client> client = Client::open(url);
  return client ? Error{} : client.error();
}

/// Holds the locks job0, job1 and so on, as many as that.
inline std::vector<Hold> hold_many(Client& client, int count) {
  std::vector<Hold> holds;
  for (int i = 0; i < count; ++i) holds.push_back(client.mutex("job" + std::to_string(i)).acquire().value());
  return holds;
}

}  // namespace pawl
