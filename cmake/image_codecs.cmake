# smelt_images: codecs of images (frontend/data/images). libpng's archive needs zlib and the mathematics of the C library.
smelt_find_library(JPEG_LIBRARY NAMES jpeg)
smelt_find_library(PNG_LIBRARY NAMES png)
find_path(JPEG_INCLUDE jpeglib.h REQUIRED)
find_path(PNG_INCLUDE png.h REQUIRED)

# smelt_link_from_shared(VARIABLE): replaces an archive by a copy that shared libraries can link.
# Debian compiles both archives for executables, so they address `stderr`, the C library's variable, relative to the program
# counter, which a shared library cannot. The copy has a variable of smelt_codec_messages in its place.
function(smelt_link_from_shared variable)
  get_filename_component(name ${${variable}} NAME)
  set(copy ${CMAKE_BINARY_DIR}/codecs/${name})
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/codecs)
  execute_process(COMMAND ${CMAKE_OBJCOPY} --redefine-sym stderr=smelt_codec_messages ${${variable}} ${copy}
                  COMMAND_ERROR_IS_FATAL ANY)
  set(${variable} ${copy} PARENT_SCOPE)
endfunction()

add_library(smelt_images INTERFACE)
if(SMELT_STATIC)
  smelt_link_from_shared(JPEG_LIBRARY)
  smelt_link_from_shared(PNG_LIBRARY)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/codec_messages.c @ONLY CONTENT "#include <stdio.h>
__attribute__((visibility(\"hidden\"))) FILE* smelt_codec_messages;
__attribute__((constructor)) static void set_codec_messages(void) { smelt_codec_messages = stderr; }
")
  add_library(smelt_codec_messages STATIC ${CMAKE_BINARY_DIR}/codec_messages.c)
  set(codec_messages smelt_codec_messages)
endif()
target_link_libraries(smelt_images INTERFACE ${JPEG_LIBRARY} ${PNG_LIBRARY} ${codec_messages} ${ZLIB_LIBRARY} m)
target_include_directories(smelt_images INTERFACE $<BUILD_INTERFACE:${JPEG_INCLUDE}> $<BUILD_INTERFACE:${PNG_INCLUDE}>)
