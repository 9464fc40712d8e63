# What an application needs: headers, the static library, a CMake package and a pkg-config file. `--component runtime`
# installs just that, without the compiler.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Headers for applications, and all that these include.
set(public_headers
    runtime/engine/generation/generator.h runtime/engine/generation/sampling.h runtime/engine/serving/continuous_batch.h
    runtime/engine/training/loss_curve.h runtime/engine/training/trainer.h runtime/engine/weights/initialize.h
    runtime/plan/plan_file.h runtime/ranks/mesh_ranks.h runtime/smelt.h runtime/system/log.h runtime/tokenizers/tokenizer.h)
set(unread ${public_headers})
while(unread)
  list(POP_FRONT unread header)
  file(STRINGS ${PROJECT_SOURCE_DIR}/${header} includes REGEX "^#include \"runtime/")
  foreach(include IN LISTS includes)
    string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" included ${include})
    if(NOT included IN_LIST public_headers)
      list(APPEND public_headers ${included})
      list(APPEND unread ${included})
    endif()
  endforeach()
endwhile()

file(STRINGS ${PROJECT_SOURCE_DIR}/runtime/smelt.h version_line REGEX "define SMELT_VERSION")
if(NOT version_line MATCHES "\"${PROJECT_VERSION}\"")
  message(FATAL_ERROR "runtime/smelt.h says ${version_line}, CMakeLists.txt ${PROJECT_VERSION}")
endif()

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/smelt)
install(TARGETS smelt_runtime ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)
install(TARGETS smelt_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT runtime)
# `--component compiler` adds the compiler as a library.
install(TARGETS smelt_compiler_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT compiler
                                              NAMELINK_COMPONENT compiler)
install(FILES ${PROJECT_SOURCE_DIR}/compiler/c_api/smelt_compile.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/smelt/compiler/c_api COMPONENT compiler)
foreach(header IN LISTS public_headers)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${PROJECT_SOURCE_DIR}/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/smelt/${folder} COMPONENT runtime)
endforeach()

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/smeltConfig.cmake.in ${PROJECT_BINARY_DIR}/smeltConfig.cmake
                              INSTALL_DESTINATION ${config_dir} PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/smeltConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/smeltConfig.cmake ${PROJECT_BINARY_DIR}/smeltConfigVersion.cmake
        DESTINATION ${config_dir} COMPONENT runtime)

# ${pcfiledir} keeps the tree movable.
file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
get_filename_component(OPENBLAS_DIRECTORY ${OPENBLAS_LIBRARY} DIRECTORY)
get_filename_component(TEXT_DIRECTORY ${PCRE2_LIBRARY} DIRECTORY)
configure_file(${PROJECT_SOURCE_DIR}/cmake/smelt.pc.in ${PROJECT_BINARY_DIR}/smelt.pc @ONLY)
configure_file(${PROJECT_SOURCE_DIR}/cmake/libsmelt.pc.in ${PROJECT_BINARY_DIR}/libsmelt.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/smelt.pc ${PROJECT_BINARY_DIR}/libsmelt.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT runtime)
