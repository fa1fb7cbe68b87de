#pragma once

#include <CLI/CLI.hpp>

/// How a subcommand plugs in: its file has one function add_<name>(), which main.cpp calls. It declares options, and
/// leaves a callback that does the work and sets the exit code.
namespace pawl::cli {

/// What a program that runs another one answers for a failure of its own, so that it is not taken for the child's.
inline constexpr int own_failure = 125;

/// What the subcommands share.
struct Context {
  int exit_code = 0;
};

void add_schemes(CLI::App& app, Context& context);
void add_version(CLI::App& app, Context& context);

}  // namespace pawl::cli
