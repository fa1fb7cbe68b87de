#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <utility>

namespace pawl::cli {

/// CLI11's help with a usage line of our own, in a width that fits a terminal.
class Help final : public CLI::Formatter {
 public:
  explicit Help(std::string usage) : usage_(std::move(usage)) {
    column_width(24);
    label("Positionals", "Arguments");
  }

  std::string make_usage(const CLI::App*, std::string) const override { return "Usage: " + usage_ + "\n"; }
  std::string make_description(const CLI::App* app) const override { return app->get_description() + "\n\n"; }
  std::string make_footer(const CLI::App* app) const override { return app->get_footer() + "\n"; }

 private:
  const std::string usage_;
};

}  // namespace pawl::cli
