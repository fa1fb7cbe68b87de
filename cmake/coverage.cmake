# For `make coverage`: the library once more, counting which of its lines run, behind the objects of the tests as they are. So
# only the library is compiled anew, and nothing of this is built unless it is asked for.

add_test(NAME check/coverage_self_test COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/scripts/coverage.py --self-test)
set_tests_properties(check/coverage_self_test PROPERTIES LABELS check TIMEOUT 300)

if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR PAWL_SANITIZE OR NOT unit_sources OR NOT contract_sources OR NOT TARGET pawl-sim)
  return()
endif()

function(pawl_counts target)
  # Without optimization a line is a line; the tests' precompiled header is compiled so.
  pawl_is_compiled_as_library(${target} PCH pawl_test_pch)
  target_link_libraries(${target} PRIVATE GTest::gmock)  # it defines what that header was compiled with
  target_compile_options(${target} PRIVATE ${pawl_test_options} --coverage)
endfunction()

add_library(pawl_counted_common OBJECT EXCLUDE_FROM_ALL ${pawl_sources})
target_include_directories(pawl_counted_common PRIVATE include)
pawl_counts(pawl_counted_common)
foreach(twin pawl pawl_planted)
  add_library(${twin}_counted STATIC EXCLUDE_FROM_ALL ${planted_sources} $<TARGET_OBJECTS:pawl_counted_common>
                                                      $<TARGET_OBJECTS:pawl_asio>)
  target_include_directories(${twin}_counted PUBLIC include)
  pawl_counts(${twin}_counted)
endforeach()
target_compile_definitions(pawl_planted_counted PUBLIC PAWL_PLANT_BUGS=1)

add_custom_target(pawl_counted_programs)
# A program of the tests, of the same objects: FROM those of these targets.
function(pawl_counted_program target library)
  list(TRANSFORM ARGN REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
  add_executable(${target} EXCLUDE_FROM_ALL ${objects})
  target_link_libraries(${target} PRIVATE ${library} GTest::gmock)
  target_link_options(${target} PRIVATE --coverage)
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  add_dependencies(pawl_counted_programs ${target})
endfunction()
pawl_counted_program(pawl_unit_tests_counted pawl_counted pawl_unit_tests ${support})
pawl_counted_program(pawl_contract_tests_counted pawl_counted pawl_contract_tests ${support})
target_link_libraries(pawl_unit_tests_counted PRIVATE GTest::gtest_main)
target_link_libraries(pawl_contract_tests_counted PRIVATE GTest::gtest_main)
set(simulated pawl-sim pawl_simulation ${support_planted})
if(TARGET pawl_embedded_redis)
  list(APPEND simulated pawl_embedded_redis)
endif()
pawl_counted_program(pawl-sim_counted pawl_planted_counted ${simulated})
if(TARGET pawl_embedded_redis)
  target_link_libraries(pawl-sim_counted PRIVATE ${LUA_LIBRARIES})
endif()
