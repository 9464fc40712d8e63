# Shared libraries for applications in C and in languages that call C. They export the functions of their headers and
# nothing else, so that no symbol of theirs meets another library's (an LLVM, an fmt).

# Where they look for other libraries: beside themselves in packages, where OpenMP's lies, else where CMake found those.
if(SMELT_STATIC)
  set(smelt_rpath INSTALL_RPATH $ORIGIN)
  file(REAL_PATH ${OpenMP_gomp_LIBRARY} OPENMP_FILE)
else()
  set(smelt_rpath INSTALL_RPATH_USE_LINK_PATH ON)
endif()

# Until 1.0 every minor version is an interface of its own.
set(SMELT_ABI_VERSION ${PROJECT_VERSION_MAJOR})
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(SMELT_ABI_VERSION 0.${PROJECT_VERSION_MINOR})
endif()

# smelt_shared_library(NAME OUTPUT_NAME EXPORTS [library...]): what the libraries have of the exported functions.
function(smelt_shared_library name output exports)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${name}.cpp CONTENT "// All of it is in the libraries that are linked.\n")
  add_library(${name} SHARED ${PROJECT_BINARY_DIR}/${name}.cpp)
  target_link_libraries(${name} PRIVATE ${ARGN})
  target_link_options(${name} PRIVATE -Wl,--version-script=${exports} -Wl,--gc-sections -Wl,--as-needed)
  set_target_properties(${name} PROPERTIES OUTPUT_NAME ${output} VERSION ${PROJECT_VERSION} SOVERSION ${SMELT_ABI_VERSION}
                                           LINK_DEPENDS ${exports} UNITY_BUILD OFF ${smelt_rpath})
endfunction()

smelt_shared_library(smelt_shared smelt ${PROJECT_SOURCE_DIR}/runtime/c_api/exports.map
                     $<LINK_LIBRARY:WHOLE_ARCHIVE,smelt_runtime>)
smelt_shared_library(smelt_compiler_shared smelt_compiler ${PROJECT_SOURCE_DIR}/compiler/c_api/exports.map smelt_compiler)
target_link_options(smelt_compiler_shared PRIVATE -Wl,--undefined=smelt_compile)
