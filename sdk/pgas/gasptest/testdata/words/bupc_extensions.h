/* bupc_extensions.h stands for the header of Berkeley UPC. */
void bupc_poll(void);
