import { SetMetadata } from '@nestjs/common';
import type { RouteClass } from '@domain/access/route-classes.js';

export const routeClassMetadata = 'openbot:route-class';
/** For a route that counts as something else than its method and permission say. */
export const CountsAs = (name: RouteClass): MethodDecorator => SetMetadata(routeClassMetadata, name);
