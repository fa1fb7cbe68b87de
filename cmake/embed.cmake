# Files of other languages as C++: pawl_embed(OUTPUT file NAMESPACE ns FILES ...) writes a header with one string_view
# for each, named after the file: lua/claim.lua -> claim_lua.

function(pawl_embed)
  cmake_parse_arguments(arg "" "OUTPUT;NAMESPACE" "FILES" ${ARGN})
  set(text "#pragma once\n\n#include <string_view>\n\nnamespace ${arg_NAMESPACE} {\n")
  foreach(file IN LISTS arg_FILES)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} content)
    get_filename_component(name ${file} NAME)
    string(REPLACE "." "_" name ${name})
    string(APPEND text "\ninline constexpr std::string_view ${name} = R\"embedded(${content})embedded\";\n")
  endforeach()
  string(APPEND text "\n}  // namespace ${arg_NAMESPACE}\n")
  file(CONFIGURE OUTPUT ${arg_OUTPUT} CONTENT "${text}" @ONLY)
endfunction()
