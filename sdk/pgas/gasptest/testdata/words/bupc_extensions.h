/* bupc_extensions.h: of Berkeley UPC. */
void bupc_poll(void);
