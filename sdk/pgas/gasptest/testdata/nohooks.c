/* nohooks.c is a program without UPC's functions. */
#include "gasp.h"

int main(void) {
    gasp_context_t g = gasp_init(GASP_MODEL_UPC, 0, 0);
    gasp_event_notify(g, GASP_BUPC_NOTIFY, GASP_START, 0, 0, 0, 0, 0);
    gasp_event_notify(g, GASP_BUPC_NOTIFY, GASP_END, 0, 0, 0, 0, 0);
    return gasp_control(g, 1) || gasp_create_event(g, "x", "y") != 100;
}
