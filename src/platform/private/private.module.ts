import { Module } from '@nestjs/common';
import { PrivateServer } from './private-server.js';

@Module({ providers: [PrivateServer] })
export class PrivateModule {}
