#include "base/escaped.hpp"

#include "base/log.hpp"

#include <boost/system/system_error.hpp>

#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <system_error>

namespace pawl::base {

void out_of_memory() noexcept {
  std::fputs("pawl: error: out of memory; the process ends here, its locks when their leases run out\n", stderr);
  std::abort();
}

void report_escaped(const char* where) noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    out_of_memory();
  } catch (const std::exception& error) {
    log(Level::error, std::string(where) + " threw: " + error.what());
  } catch (...) {
    log(Level::error, std::string(where) + " threw something that is no exception");
  }
}

Error refused_by_system() {
  try {
    throw;
  } catch (const Exception&) {
    throw;  // an error of ours
  } catch (const std::system_error& error) {
    return {Errc::overloaded, std::string("the system has refused something: ") + error.what()};
  } catch (const boost::system::system_error& error) {
    return {Errc::overloaded, std::string("the system has refused something: ") + error.what()};
  }
}

void rethrow_escaped(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    out_of_memory();
  }
}

}  // namespace pawl::base
