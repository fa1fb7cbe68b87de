#pragma once

#include "apps/cli/torture/line_file.hpp"
#include "apps/cli/torture/scene.hpp"

#include <pawl/token.hpp>

#include <string>
#include <string_view>

namespace pawl::torture {

/// What a worker logs: `TIME TURN WORD ...`, in nanoseconds of CLOCK_BOOTTIME. A turn is one attempt to hold a lock.
///
/// | line                                   | when                                                                    |
/// |----------------------------------------|-------------------------------------------------------------------------|
/// | ask LOCK MODE                          | before acquire() was called                                             |
/// | granted TOKEN SLOT,SLOT                | after it had returned a hold; `-` where there are no slots              |
/// | failed ERROR                           | after it had returned an error                                          |
/// | valid                                  | TIME is that before a look: valid() was true then, and since the grant  |
/// | invalid                                | after a look: valid() was false                                         |
/// | call NUMBER OPERATION SLOT VALUE       | before an operation of the resource: mark, read, write                  |
/// | done NUMBER OUTCOME VALUE              | after it: ok, overtaken, or another error; what was read                |
/// | release                                | before release() was called, or the hold was dropped                    |
/// | released OUTCOME                       | after release() had returned                                            |
/// | again LOCK                             | after the faults: it has held this lock, and released it                |
/// | end                                    | nothing more will come                                                  |
class Diary {
 public:
  explicit Diary(const std::filesystem::path& file) : file_(file) {}

  void tell(const std::string& turn, const std::string& what) const { tell_at(now(), turn, what); }
  void tell_at(Nanoseconds time, const std::string& turn, const std::string& what) const {
    file_.add(std::to_string(time) + " " + turn + " " + what);
  }

 private:
  LineFile file_;
};

}  // namespace pawl::torture
