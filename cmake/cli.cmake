# The command line: pawl, at the top of the build tree.

file(GLOB_RECURSE cli_sources CONFIGURE_DEPENDS apps/cli/*.cpp)
# What `pawl torture` does is shared with tests/torture.
file(GLOB torture_sources CONFIGURE_DEPENDS apps/cli/torture/*.cpp)
list(FILTER cli_sources EXCLUDE REGEX "/apps/cli/torture/")
if(cli_sources)
  add_library(pawl_torture_core OBJECT ${torture_sources})
  pawl_compile(pawl_torture_core)
  target_include_directories(pawl_torture_core PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(pawl_torture_core PUBLIC pawl)
  add_library(pawl_cli_core OBJECT ${cli_sources})
  pawl_compile(pawl_cli_core)
  target_include_directories(pawl_cli_core PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(pawl_cli_core PRIVATE pawl_torture_core pawl CLI11::CLI11)
  if(PAWL_STORE_FILE)
    # For `pawl bench`, which measures LMDB alone beside the store that is built on it.
    target_link_libraries(pawl_cli_core PRIVATE LMDB::LMDB)
  endif()
  include(cmake/static_cli.cmake)
  add_executable(pawl-cli $<TARGET_OBJECTS:pawl_cli_core> $<TARGET_OBJECTS:pawl_torture_core>)
  pawl_link_cli(pawl-cli)
  set_target_properties(pawl-cli PROPERTIES OUTPUT_NAME pawl LINKER_LANGUAGE CXX
                                            RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
endif()
