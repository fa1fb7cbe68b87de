#include "tests/torture/porcupine.hpp"

#include <fmt/format.h>

#include <stdio.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <ostream>
#include <stdexcept>

namespace pawl::torture {

namespace {

constexpr std::array<const char*, 3> operation_names{"mark", "read", "write"};

/// To the model, both are a refusal of a token that is too small: of two lives of a store, the later has larger ones.
std::string outcome_of(const Call& call) { return call.outcome == "other_store" ? "overtaken" : call.outcome; }

std::string line_of(const Call& call, bool answered) {
  return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", call.fence, call.called,
                     answered ? std::to_string(*call.done) : "-",
                     operation_names[static_cast<std::size_t>(call.operation)], to_string(call.mode), call.token,
                     call.value, answered ? outcome_of(call) : "pending");
}

struct Answer {
  std::string text = {};
  int code = 0;
};

Answer run(const std::string& program, const std::string& file) {
  FILE* pipe = ::popen(("'" + program + "' '" + file + "' 2>&1").c_str(), "re");
  if (pipe == nullptr) throw std::runtime_error("porcupine cannot be run");
  Answer answer;
  std::array<char, 4096> buffer{};
  for (std::size_t size = 0; (size = ::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    answer.text.append(buffer.data(), size);
  const int status = ::pclose(pipe);
  answer.code = WIFEXITED(status) ? WEXITSTATUS(status) : 2;
  return answer;
}

}  // namespace

void write_operations(const History& history, std::ostream& out, std::size_t most) {
  std::map<std::string, std::vector<const Call*>> fences;
  for (const Call& call : history.calls) fences[call.fence].push_back(&call);
  for (auto& [fence, calls] : fences) {
    std::sort(calls.begin(), calls.end(), [](auto* a, auto* b) { return a->called < b->called; });
    if (calls.size() > most) calls.resize(most);
    const Nanoseconds end = calls.back()->called;
    for (const Call* call : calls) out << line_of(*call, call->done && *call->done <= end);
  }
}

std::string ask_porcupine(const std::string& program, const History& history, const std::string& folder,
                          std::vector<Complaint>& complaints) {
  if (program.empty()) return "skipped: the program was not built (it needs go, and its module registry)";
  const std::string file = folder + "/operations";
  {
    std::ofstream out(file);
    write_operations(history, out);
  }
  const Answer answer = run(program, file);
  if (answer.code == 0) return fmt::format("{} operations are linearizable", history.calls.size());
  if (answer.code == 1) complaints.push_back({"linearizability", answer.text});
  return answer.text;
}

}  // namespace pawl::torture
