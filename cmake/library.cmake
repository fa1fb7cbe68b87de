# The library, pawl::pawl, and its twin for the simulation.

# Asio's own code, compiled once. Owns the precompiled header that everything else uses as well.
add_library(pawl_asio OBJECT src/base/asio.cpp)
pawl_compile(pawl_asio)
target_precompile_headers(pawl_asio PRIVATE src/base/pch.hpp)

file(GLOB_RECURSE pawl_sources CONFIGURE_DEPENDS src/*.cpp)
list(FILTER pawl_sources EXCLUDE REGEX "_test\\.cpp$|/src/base/asio\\.cpp$")
if(NOT PAWL_STORE_FILE)
  list(FILTER pawl_sources EXCLUDE REGEX "/src/store/file/")
endif()
file(GLOB pawl_headers CONFIGURE_DEPENDS include/pawl/*.hpp)

function(pawl_library target)
  add_library(${target} STATIC ${pawl_sources} $<TARGET_OBJECTS:pawl_asio>)
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS include FILES ${pawl_headers})
  target_link_libraries(${target} PUBLIC tl::expected)
  target_compile_features(${target} PUBLIC cxx_std_20)
  pawl_compile(${target})
  if(PAWL_STORE_FILE)
    target_link_libraries(${target} PRIVATE LMDB::LMDB)
    target_compile_definitions(${target} PUBLIC $<BUILD_INTERFACE:PAWL_STORE_FILE=1>)
  endif()
endfunction()

pawl_library(pawl)
add_library(pawl::pawl ALIAS pawl)
set_target_properties(pawl PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)

if(PAWL_BUILD_TESTS)
  # Known bugs can be planted by name at run time. Only for the simulation, never installed.
  pawl_library(pawl_planted)
  target_compile_definitions(pawl_planted PUBLIC PAWL_PLANT_BUGS=1)
endif()
