# `cmake --install`: the library, its headers, the command line, and what find_package(pawl) and pkg-config read.
# The tree can be moved: nothing in it names the place it was installed to.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/pawl)
install(TARGETS pawl EXPORT pawl-targets FILE_SET HEADERS)
install(EXPORT pawl-targets NAMESPACE pawl:: DESTINATION ${package_dir})
if(TARGET pawl-cli)
  install(TARGETS pawl-cli)
  install(FILES docs/pawl.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES apps/cli/completion/pawl.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME pawl)
  install(FILES apps/cli/completion/_pawl DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES apps/cli/completion/pawl.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()

configure_package_config_file(cmake/pawl-config.cmake.in pawl-config.cmake INSTALL_DESTINATION ${package_dir}
                              NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(pawl-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/pawl-config.cmake ${PROJECT_BINARY_DIR}/pawl-config-version.cmake
        DESTINATION ${package_dir})
foreach(module IN LISTS PAWL_FIND_MODULES)
  install(FILES cmake/Find${module}.cmake DESTINATION ${package_dir})
endforeach()

# For pkg-config: paths from the folder of pawl.pc, unless the folder of libraries was given as an absolute path.
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
else()
  cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig OUTPUT_VARIABLE up)
  set(pc_prefix "\${pcfiledir}/${up}")
endif()
cmake_path(APPEND pc_libdir "\${prefix}" "${CMAKE_INSTALL_LIBDIR}")
cmake_path(APPEND pc_includedir "\${prefix}" "${CMAKE_INSTALL_INCLUDEDIR}")
list(TRANSFORM PAWL_STORE_LIBRARIES PREPEND " -l" OUTPUT_VARIABLE pc_stores)
list(JOIN pc_stores "" pc_stores)
configure_file(cmake/pawl.pc.in pawl.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/pawl.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
