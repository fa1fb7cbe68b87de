# What must be on the machine. scripts/setup.sh installs it on Debian.

macro(pawl_require package version debian)
  find_package(${package} ${version} QUIET)
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "pawl needs ${package} ${version} or later, which was not found "
                        "(Debian: ${debian}; scripts/setup.sh installs everything)")
  endif()
endmacro()

pawl_require(Boost 1.81 libboost1.81-dev)
pawl_require(tl-expected 1.0 libexpected-dev)
pawl_require(fmt 9 libfmt-dev)
find_package(Threads REQUIRED)
if(PAWL_BUILD_CLI)
  pawl_require(CLI11 2.1 libcli11-dev)
endif()
if(PAWL_BUILD_TESTS)
  pawl_require(GTest 1.12 "libgtest-dev libgmock-dev")
endif()
